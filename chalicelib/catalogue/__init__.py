"""Tokens, networks and contracts: the data, and how it is looked up."""
