"""Models that visitors upload, each for the length of a visit."""
