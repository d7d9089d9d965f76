"""Accounts: sign-in, API keys, client ids, branding, orchestrators and the audit log."""
