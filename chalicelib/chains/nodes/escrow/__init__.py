"""What chains say of the escrow of commerce payments: its events and its storage."""
