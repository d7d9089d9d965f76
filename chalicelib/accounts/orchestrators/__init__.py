"""Platforms that create links for client ids of others."""
