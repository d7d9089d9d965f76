"""Payments of requests, their refunds, and the transfers that do not count."""
