"""Families whose queries and keys are turned by their positions (Su et al. 2021)."""
