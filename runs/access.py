"""What an account of a person may look at and do. What a token may do is its scopes' matter."""

from typing import Any, Final

from django.db.models import QuerySet

from runs.models import Project

VIEW: Final = "runs.view_run"
CONTROL: Final = "runs.control_run"


def visible_projects(user: Any) -> "QuerySet[Project]":
    """The projects whose runs this account may look at: all, with the permission to view runs."""
    return Project.objects.all() if user.is_active and user.has_perm(VIEW) else Project.objects.none()


def may_control(user: Any, project: Project) -> bool:
    """Whether this account may pause, cancel and resume the project's runs."""
    return bool(user.is_active and user.has_perm(CONTROL)) and visible_projects(user).filter(pk=project.pk).exists()
