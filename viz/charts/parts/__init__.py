"""The parts of figures: panels, keys, and the memory that keeps a drawn figure."""
