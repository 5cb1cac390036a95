"""Whether "converged" is true, on some 250 problems; ``__main__`` says what is measured."""
