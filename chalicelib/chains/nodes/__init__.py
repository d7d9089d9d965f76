"""Reads of the networks through their nodes: blocks, logs, balances, receipts, simulations; and the Safe's service."""
