"""The experiment of Wu (2002); ``__main__`` says what is measured."""
