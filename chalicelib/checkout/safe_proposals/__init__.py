"""Transactions that an owner of a Safe signs and the service proposes to the other owners."""
