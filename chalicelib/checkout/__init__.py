"""Checkout: the transactions that a payer signs, multisig intents, and broadcasts on Tron."""
