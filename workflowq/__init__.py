"""Assembles the queue and decides nothing. No Django here: the runner kit lives below this package."""

__version__ = "0.1.0"
