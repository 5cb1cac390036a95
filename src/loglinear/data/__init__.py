"""Encoded data: flat, read-only arrays."""

from loglinear.data.candidates import CandidateLists, encode_lists
from loglinear.data.matrix import DenseRows, Rows, SparseRows
from loglinear.data.multiclass import MulticlassData

__all__ = ["CandidateLists", "DenseRows", "MulticlassData", "Rows", "SparseRows", "encode_lists"]
