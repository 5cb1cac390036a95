"""Hidden Markov models, counted from labelled sequences: base models that a tagger corrects, and their expectations."""
