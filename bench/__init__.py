"""Benchmarks of the hot paths, on both databases. `make bench` runs them; nothing is written into the project."""
