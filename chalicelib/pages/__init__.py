"""The hosted payment page, and what serves it."""
