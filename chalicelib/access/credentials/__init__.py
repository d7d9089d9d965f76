"""Accounts, users, API keys, client ids and orchestrator keys, as every caller is held to them."""
