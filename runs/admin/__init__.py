"""The operator console: reads through querysets of its own, writes through the transitions alone."""

from django.contrib import admin

from runs.admin import access_tokens, projects, runs, users

__all__ = ["access_tokens", "projects", "runs", "users"]

admin.site.index_title = "Overview"
