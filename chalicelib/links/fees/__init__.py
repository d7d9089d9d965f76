"""Platform fees: which one a link carries, and its preview."""
