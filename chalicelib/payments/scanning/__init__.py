"""Scanning: reading the blocks of each network into the log of transfers that have the reference of a request."""
