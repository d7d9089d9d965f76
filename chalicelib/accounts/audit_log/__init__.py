"""The audit log of an account."""
