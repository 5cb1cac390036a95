"""Class-factored language models: the class of the next word from many sources, then the word within its class."""
