"""Stand-ins for the world outside: a clock, a queue, a chain, a receiver. They behave; they do not record expectations."""
