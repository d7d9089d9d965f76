"""Addresses of their own, at which requests are paid by a plain transfer of a token, as exchanges make them."""
