"""What visitors upload: a model of their own, for the length of a visit."""
