"""The WSGI application: the same HTTP addresses without websockets and without static files, for API servers."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workflowq.settings")
application = get_wsgi_application()

from workflowq.checks import refuse_unsafe  # noqa: E402 (settings first)

refuse_unsafe()
