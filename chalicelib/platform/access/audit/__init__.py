"""Audit entries: the record of each change to an account."""
