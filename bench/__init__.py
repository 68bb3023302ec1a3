"""Measurements on both databases, as ratios within one run. `make bench` runs them all; nothing here is a test."""
