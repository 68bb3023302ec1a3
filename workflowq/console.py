"""How the operator console looks: names, colours, and what its sidebar leads to. Read by settings.py."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy


def _stylesheet(request: HttpRequest) -> str:
    return static("runs/console.css")


def _icon(request: HttpRequest) -> str:
    return static("runs/icon.svg")


def _may(permission: str) -> Callable[[HttpRequest], bool]:
    def permitted(request: HttpRequest) -> bool:
        user: Any = request.user
        return bool(user.has_perm(permission))

    return permitted


def _is_superuser(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.is_superuser)


def _entry(title: str, icon: str, model: str, permitted: Callable[[HttpRequest], bool]) -> dict[str, Any]:
    """A list in the sidebar, for those who may see it."""
    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{model}_changelist"), "permission": permitted}


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "workflowq",
    "SITE_HEADER": "workflowq",
    "SITE_SUBHEADER": "run queue",
    "SITE_ICON": _icon,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _icon}],
    # There is no site beside the console.
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [_stylesheet],
    "BORDER_RADIUS": "6px",
    "COLORS": {
        "primary": {
            "50": "oklch(97.1% .014 230)",
            "100": "oklch(94% .03 230)",
            "200": "oklch(88.5% .06 230)",
            "300": "oklch(80.5% .1 230)",
            "400": "oklch(70.5% .13 232)",
            "500": "oklch(61.5% .14 235)",
            "600": "oklch(52.5% .13 238)",
            "700": "oklch(45.5% .115 240)",
            "800": "oklch(39.5% .1 242)",
            "900": "oklch(34% .08 244)",
            "950": "oklch(26% .06 246)",
        },
    },
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": [
            {
                "items": [
                    _entry("Runs", "play_circle", "runs_run", _may("runs.view_run")),
                    _entry("Access tokens", "key", "runs_accesstoken", _may("runs.view_accesstoken")),
                    _entry("Projects", "folder", "runs_project", _may("runs.view_project")),
                    _entry("Users", "group", "auth_user", _is_superuser),
                ]
            }
        ],
    },
}
