"""The mathematics behind an exhibit that is no model: pure functions, one file a lesson."""
