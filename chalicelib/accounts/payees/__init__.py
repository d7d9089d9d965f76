"""Payee destinations: the token and chain in which a wallet is paid."""
