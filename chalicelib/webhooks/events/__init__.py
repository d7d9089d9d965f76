"""Reading the events of an account."""
