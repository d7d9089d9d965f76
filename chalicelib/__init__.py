"""The payment request service: see README.md, the map of the code."""
