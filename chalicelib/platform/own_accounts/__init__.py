"""The accounts from which the service itself sends transactions, as far as others have to know them."""
