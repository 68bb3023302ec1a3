"""Serves the files of the console and the docs before Django is asked: no collecting step, no other server."""

from typing import Any
from wsgiref.headers import Headers

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from servestatic import ServeStaticASGI

MAX_AGE_SECONDS = 3600


def served_before(application: Any) -> Any:
    """The ASGI `application`, with every file that Django's finders know answered before it is reached."""
    server = ServeStaticASGI(
        application, max_age=MAX_AGE_SECONDS, allow_all_origins=False, add_headers_function=_harden
    )
    for finder in get_finders():
        for name, storage in finder.list([]):
            url = settings.STATIC_URL + name
            # The first finder wins, as in Django.
            if url not in server.files:
                server.add_file_to_dictionary(url, storage.path(name))
    return server


def _harden(headers: Headers, path: str, url: str) -> None:
    headers["X-Content-Type-Options"] = "nosniff"
