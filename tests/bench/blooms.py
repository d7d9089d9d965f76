"""How full the blooms of blocks are."""

BLOOMS = {"mainnet": 0.55, "arbitrum-one": 0.06, "optimism": 0.19, "base": 0.59, "matic": 0.58, "bsc": 0.51}
"""Which part of the bits of a block's bloom is set on average, in recorded blocks of 2025 and 2026: where they exclude
nothing, receipts are read. Networks without an entry have empty ones here."""
