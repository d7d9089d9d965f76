"""Long runs of `make chaos`: processes that are killed, forks and dust on a real local chain, with a real local cloud."""
