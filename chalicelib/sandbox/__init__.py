"""Test mode: the sandbox of an account, in which test credentials work: its records, virtual chains and clock."""
