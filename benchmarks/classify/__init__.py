"""Classifiers against scikit-learn's, to equal objective."""
