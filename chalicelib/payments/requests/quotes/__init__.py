"""Rates that are locked for the payers of a request."""
