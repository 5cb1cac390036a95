"""Workers of a cluster against one process."""
