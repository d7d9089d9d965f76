"""Commerce payments: money that a payer puts into an escrow, from which the merchant captures it or gives it back."""
