"""The kit that exhibits are made of: a step as a table, its question, its chart and its sentences."""
