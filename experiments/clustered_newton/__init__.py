"""The experiment of Mathur and Chakrabarti; ``__main__`` says what is measured."""
