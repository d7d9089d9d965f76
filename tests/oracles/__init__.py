"""Wallets that are not ours: viem, siwe and tronweb sign, hash and verify in a Node.js process."""
