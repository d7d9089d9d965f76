"""Rates that are held for the payers of a request."""
