"""Receipts: what was paid of a request, in a document that the service signs."""
