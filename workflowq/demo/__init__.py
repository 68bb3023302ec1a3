"""Workflows that the quick start runs: `python -m workflowq.runner workflowq.demo` serves them."""

from workflowq.demo.brittle import break_on_purpose
from workflowq.demo.inventory import take_inventory

__all__ = ["break_on_purpose", "take_inventory"]
