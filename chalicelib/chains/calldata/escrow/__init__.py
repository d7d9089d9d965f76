"""Commerce payments: what names a payment in the escrow, the calls of its contracts, and what a payer signs."""
