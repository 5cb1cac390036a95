"""Text classifiers against fastText and scikit-learn, from a TSV file to a model file and back."""
