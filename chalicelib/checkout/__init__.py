"""Checkout: the transactions that a payer signs, announced transactions to pay, and broadcasts on Tron."""
