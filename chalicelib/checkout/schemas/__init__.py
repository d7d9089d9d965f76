"""Models of payers' queries, and the responses built from descriptions and quotes."""
