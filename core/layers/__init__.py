"""The parts that every model family is wired from: one file a part."""
