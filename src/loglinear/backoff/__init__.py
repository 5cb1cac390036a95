"""N-gram models in back-off form: how they are estimated, pruned, mixed, stored and queried."""
