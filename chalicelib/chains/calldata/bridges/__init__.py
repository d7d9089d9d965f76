"""Deposits into bridges, and the messages that pay a request on the other chain."""
