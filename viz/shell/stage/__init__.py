"""The stage of every page: keys, present mode, the way to the exhibits before and after."""
