"""Lessons: those that ship (ready/), the one that the visitor collects, and a file that the visitor opens."""
