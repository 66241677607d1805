"""What every training is made of: the loops, the optimiser and its schedule, the loss, batches ahead of time."""
