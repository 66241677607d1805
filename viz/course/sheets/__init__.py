"""Sheets to print: exercises that a student does by hand, with numbers of the exhibits, and their solutions."""
