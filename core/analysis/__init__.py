"""Pure functions of attention patterns: what heads do, in numbers."""
