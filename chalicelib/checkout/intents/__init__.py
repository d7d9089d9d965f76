"""Multisig transactions that are on their way for a link."""
