"""Webhooks: endpoints, events, deliveries and their attempts."""
