"""One file a recipe; found by name."""
