"""Webhooks of an account or client id: registering, listing, changing, deleting."""
