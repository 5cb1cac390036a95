"""Features of texts: word and character n-grams, named or hashed, stop words."""
