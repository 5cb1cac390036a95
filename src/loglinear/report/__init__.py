"""Results to read: tables for the terminal and for HTML, plots, self-contained pages."""

from loglinear.report.heat_map import attribute_table, strongest_attributes, transition_table
from loglinear.report.html import Section, page, write_page
from loglinear.report.plots import Curve, Plot
from loglinear.report.tables import Table

__all__ = [
    "Curve",
    "Plot",
    "Section",
    "Table",
    "attribute_table",
    "page",
    "strongest_attributes",
    "transition_table",
    "write_page",
]
