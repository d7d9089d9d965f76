"""Mutation testing: small changes of the code, each of which a test of the same room has to detect."""
