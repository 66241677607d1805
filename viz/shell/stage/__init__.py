"""What stands around every page: keys, Present, the way to the exhibits before and after."""
