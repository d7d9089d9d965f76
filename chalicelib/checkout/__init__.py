"""Checkout: the transactions that a payer signs, intents to pay, and broadcasts on Tron."""
