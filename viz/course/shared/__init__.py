"""Computations and pictures that exhibits of several chapters share."""
