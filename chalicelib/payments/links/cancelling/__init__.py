"""Payouts: links that their creator pays, one by one or merged into a batch."""
