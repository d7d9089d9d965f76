"""Asking the universal resolver of ENS, and whether an address is a contract."""
