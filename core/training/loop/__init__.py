"""Parts of every training: the loops, the optimiser and its schedule, the loss, batches ahead of time."""
