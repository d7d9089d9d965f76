"""The ERC-7730 descriptors as files, through the official linter, and into a clone of their registry."""
