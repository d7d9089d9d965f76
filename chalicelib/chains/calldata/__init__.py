"""Calldata for wallets to sign, one module per family of contracts, and its decoding and explanation."""
