"""Results to read: tables for the terminal and for HTML, plots, self-contained pages."""
