"""Calls by contract wallets, and checks of their signatures."""
