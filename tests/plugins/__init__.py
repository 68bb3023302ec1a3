"""Plugins of pytest that have to be there before Django's settings are read."""
