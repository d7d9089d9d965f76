"""Requests: an amount owed to a payee, its payment reference and its payments."""
