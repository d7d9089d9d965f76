"""What API keys, client ids and orchestrator keys share: list, read, revoke."""
