"""Client ids of an account."""
