"""The service's own account on each EVM network: signs and sends transactions, and follows them to their end."""
