"""Models of payers and their bank accounts."""
