"""Broadcasts: signed Tron transactions that are sent to the network."""
