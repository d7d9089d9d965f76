"""The service's own keys, by which deliveries are signed that anybody can verify: their life, and the public ones."""
