"""Reading blocks, recognising payments, recording them, undoing forks."""
