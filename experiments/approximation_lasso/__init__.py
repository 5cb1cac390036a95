"""The experiment of Gao, Suzuki and Yu (2006); ``__main__`` says what is measured."""
