"""The experiment of Nelakanti et al. (2013); ``__main__`` says what is measured."""
