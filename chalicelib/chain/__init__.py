"""Nodes of the networks: blocks, logs, balances, simulations, receipts."""
