"""The operations that list currencies and what they can be paid in."""
