"""Transfers from addresses of their own, at which requests are paid by plain transfers."""
