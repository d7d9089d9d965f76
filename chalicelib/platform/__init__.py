"""What every product stands on: storage, outbound requests, callers and HTTP, settings and services."""
