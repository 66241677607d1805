"""The course: one file an exhibit, found by viz.pages; the name of the file is its address."""
