"""Payouts: links that their maker pays, alone or merged into a batch."""
