"""Encoded data: flat, read-only arrays."""

from loglinear.data.matrix import DenseRows, Rows, SparseRows
from loglinear.data.multiclass import MulticlassData

__all__ = ["DenseRows", "MulticlassData", "Rows", "SparseRows"]
