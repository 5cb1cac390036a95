"""Where the bytes of a file come from: the disk, a store that fsspec knows, a compressed file, a table's column."""
