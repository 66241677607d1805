"""Pictures with sentences, without end: scenes as text, as pixels, and drawn at random."""
