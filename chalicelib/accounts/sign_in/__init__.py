"""Signing in and out: by wallet, or by e-mail and password."""
