"""The ASGI application: HTTP, static files and websockets on one port."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowq.settings")
# Loads the apps; nothing that imports models may come before it.
django_application = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import OriginValidator  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import re_path  # noqa: E402

from api.bodies import bounded  # noqa: E402
from workflowq.checks import refuse_unsafe  # noqa: E402
from workflowq.static import served_before  # noqa: E402
from workflowq.websockets import refuse  # noqa: E402

refuse_unsafe(asgi=True)

application = ProtocolTypeRouter(
    {
        "http": served_before(bounded(django_application, settings.WORKFLOWQ["MAX_BODY_BYTES"])),
        "websocket": OriginValidator(
            # Channels routes ASGI applications by Django's own route objects.
            URLRouter([re_path(r"", refuse)]),  # type: ignore[arg-type]
            [*settings.ALLOWED_HOSTS, *settings.CSRF_TRUSTED_ORIGINS],
        ),
    }
)
