"""Folders that no model should be read from, and the few odd ones that are fine: tables of them, by what is wrong."""
