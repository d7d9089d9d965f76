"""Payments that a payer signs and the service makes: Permit2 takes the tokens, and the bridge brings them."""
