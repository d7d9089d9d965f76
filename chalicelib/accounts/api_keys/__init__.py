"""API keys of an account: create, read, change and revoke."""
