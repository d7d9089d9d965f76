"""Payments from another chain: what both chains say of them, and what follows from it."""
