"""Benchmarks: each figure with the alternative it is compared with, and their ratio. `make bench` prints them all."""
