"""Payee destinations: where a wallet is paid."""
