"""Payments from another chain: routes, bridge transfers and payment intents."""
