"""The layers of which every model family is made: one file per layer."""
