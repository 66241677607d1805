"""How one number of a run came about: its arithmetic line by line, and the code that made it."""
