"""Whose runs an account sees, and which project a list shows: one at a time, as every index of runs begins with it."""

from typing import Final

from django.http import Http404, HttpRequest

from runs.access import visible_projects
from runs.models import Project

PROJECT: Final = "project"
# How many projects are offered to choose from; the others are reached from the list of projects.
MAX_OFFERED: Final = 20
_ATTRIBUTE: Final = "_console_projects"


def chosen_project(request: HttpRequest) -> Project | None:
    """The project that the address names, else the first one; None where there is none. An unseen one is a 404."""
    return _choice(request)[0]


def offered_projects(request: HttpRequest) -> list[Project]:
    """The first projects, and the chosen one."""
    return _choice(request)[1]


def _choice(request: HttpRequest) -> tuple[Project | None, list[Project]]:
    known: tuple[Project | None, list[Project]] | None = getattr(request, _ATTRIBUTE, None)
    if known is None:
        known = _looked_up(request)
        setattr(request, _ATTRIBUTE, known)
    return known


def _looked_up(request: HttpRequest) -> tuple[Project | None, list[Project]]:
    visible = visible_projects(request.user)
    offered = list(visible[:MAX_OFFERED])
    path = request.GET.get(PROJECT)
    if path is None:
        return (offered[0] if offered else None), offered
    chosen = next((project for project in offered if project.path == path), None)
    if chosen is None:
        chosen = None if "\0" in path else visible.filter(path=path).first()
        if chosen is None:
            raise Http404("There is no such project.")
        offered.append(chosen)
    return chosen, offered
