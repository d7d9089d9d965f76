"""Calls of tokens, and what their holders sign instead of sending an approval or a transfer."""
