"""Transfers: all transfers with the references of a link, their classification, and their refunds."""
