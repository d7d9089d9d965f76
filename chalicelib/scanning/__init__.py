"""Detection: reading blocks, recognising and recording payments, undoing forks."""
