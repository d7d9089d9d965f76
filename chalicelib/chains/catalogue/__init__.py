"""Tokens, networks and contract addresses, and their lookups."""
