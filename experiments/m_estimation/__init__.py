"""The experiment of Smith, Vail and Lafferty (2007); ``__main__`` says what is measured."""
