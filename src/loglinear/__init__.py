"""Log-linear models of language."""
__version__ = "0.1.0"
