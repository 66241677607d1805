"""Cards of shipped models: what in them is computed, and where it stands between the prose."""
