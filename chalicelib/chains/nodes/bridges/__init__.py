"""Deposits into the bridge, and the fills that answer them."""
