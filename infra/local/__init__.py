"""The local stack: local cloud, local chain, and the service itself in one process."""
