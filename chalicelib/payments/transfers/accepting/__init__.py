"""Accepting what was paid of a request as full payment."""
