"""A page in a frame of another site: no menu, its height, and a link to the app."""
