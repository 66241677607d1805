"""What the instruments share: how one gets into the page, packets, stacks of heads, pictures for notebooks, saving."""
