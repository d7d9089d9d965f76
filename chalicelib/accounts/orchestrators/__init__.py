"""Orchestrators: platforms that create links for client ids of other accounts."""
