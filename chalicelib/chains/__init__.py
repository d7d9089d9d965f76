"""Blockchains: what is known of networks and tokens, the bytes of calls, and the nodes that are asked."""
