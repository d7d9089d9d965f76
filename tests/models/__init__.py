"""Exhaustive searches of the decision rules: one file for each machine, and the engine they share."""
