"""What a payer is shown and given to sign, as responses."""
