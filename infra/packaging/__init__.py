"""Builds what Lambda gets, with its settings and policies; lists what is in it."""
