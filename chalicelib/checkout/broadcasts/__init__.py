"""Signed Tron transactions that are handed to the network."""
