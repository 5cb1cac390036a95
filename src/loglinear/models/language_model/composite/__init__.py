"""Models with several information sources: features of all of them in one exactly normalised model."""
