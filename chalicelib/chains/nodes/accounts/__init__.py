"""The state of accounts, the transactions that they send, and dry runs of these."""
