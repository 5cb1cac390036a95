"""placeholder replaced by the formats work."""
