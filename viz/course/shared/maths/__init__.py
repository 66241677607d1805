"""The mathematics that several exhibits show: pure functions, one file a subject."""
