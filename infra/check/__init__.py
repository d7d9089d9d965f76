"""Checks of everything that a stage has stored against what must always be true of it."""
