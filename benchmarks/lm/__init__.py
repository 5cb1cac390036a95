"""Language models against KenLM."""
