"""Domains that merchants prove to be theirs, and that payment pages show beside the payee."""
