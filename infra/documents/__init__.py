"""Writes documents from the code: the OpenAPI document and the table of what is stored."""
