"""One engine, one file a recipe."""
