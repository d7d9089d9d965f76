"""Payments from another chain: quotes of a router, verified before a payer signs them."""
