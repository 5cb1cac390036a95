"""Tree penalties against SPAMS."""
