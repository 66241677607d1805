"""Texts and data sets of the project: shipped sentences, generated tasks, pictures and sounds, and readers of the training sets."""
