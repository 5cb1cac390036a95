"""Shapes that weights may have: groups that share a value (tying) and forests of nodes (tree)."""

from loglinear.structure.tree import Tree, growth_by_depth
from loglinear.structure.tying import Tying

__all__ = ["Tree", "Tying", "growth_by_depth"]
