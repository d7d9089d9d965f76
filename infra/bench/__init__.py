"""Benchmarks: each figure beside what one would otherwise take, as a ratio. `make bench` prints them all."""
