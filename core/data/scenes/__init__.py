"""Generated pictures with captions: scenes as text, as pixels, and sampled at random."""
