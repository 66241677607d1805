"""Checks of a page before it reads a text: how much of it, which model's, and the survey of the heads of foreign models."""
