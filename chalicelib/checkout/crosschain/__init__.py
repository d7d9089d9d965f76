"""Payments from another chain: what is bridged, the transactions of the source chain, and what a wallet has there."""
