"""Transactions that payers have announced: what may be announced, and what became of them."""
