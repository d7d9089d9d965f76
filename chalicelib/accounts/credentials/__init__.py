"""Use cases that API keys, client ids and orchestrator keys share: add, list, read, revoke."""
