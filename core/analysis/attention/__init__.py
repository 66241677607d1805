"""Patterns of attention in numbers: measures, lenses, many heads as one, patterns over different tokens."""
