"""Bytes that a reader of files may meet: any at all, and pieces of its own format in any order."""

from hypothesis import strategies as st


def byte_files(*fragments):
    """Return a strategy for the contents of files."""
    return st.one_of(st.binary(max_size=100), st.lists(st.sampled_from(fragments), max_size=60).map(b"".join))
