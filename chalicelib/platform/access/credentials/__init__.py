"""Accounts, API keys, client ids and orchestrator keys, and the checks of every call against them."""
