"""Requests and links, the transfers that pay them, and what is found of them."""
