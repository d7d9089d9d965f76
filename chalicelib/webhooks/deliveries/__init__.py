"""Deliveries of events to webhooks: their attempts, lists, and sending them again."""
