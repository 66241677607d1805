"""What an output rests on: heads and words taken away, patched, or asked by a gradient."""
