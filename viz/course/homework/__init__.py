"""Homework: questions and the functions that know their truth."""
