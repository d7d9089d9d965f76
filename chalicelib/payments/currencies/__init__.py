"""Currencies: the tokens of the catalogue, and what an invoice currency can be paid in."""
