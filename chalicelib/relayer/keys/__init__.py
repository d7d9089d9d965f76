"""The keys of the service's own accounts, as signers of digests."""
