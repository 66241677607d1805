"""The common parts of the instruments: delivery to the page, packets, stacks of heads, pictures for notebooks, saving."""
