"""Working in-memory substitutes of external systems (clock, queue, chain, receiver); not mocks with expectations."""
