"""Lessons: those that ship (ready/), the one that the visitor collects, and a file that he opens."""
