"""Settings of an account that concern all its members."""
