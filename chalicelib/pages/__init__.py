"""The hosted payment page: its files and the views that serve them."""
