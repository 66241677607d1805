"""The computation of one number of a run: its arithmetic line by line, and the code that made it."""
