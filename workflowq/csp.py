"""The Content-Security-Policy of each address: strict everywhere, wider only where a bundled page needs it."""

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

# The console's theme evaluates expressions written in attributes, and styles elements inline.
_CONSOLE = {
    "script-src": ["'self'", "'unsafe-eval'"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "img-src": ["'self'", "data:"],
}
# The API's browsable docs style elements inline; their script comes from an address of its own.
_DOCS = {
    "style-src": ["'self'", "'unsafe-inline'"],
    "img-src": ["'self'", "data:"],
}
_WIDER = {"/console/": _CONSOLE, "/api/v1/docs": _DOCS}


class Policy(CSPMiddleware):
    """django-csp's middleware, with the directives that the request's address adds."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """The settings' policy, widened for the console and the docs page alone."""
        parts = super().get_policy_parts(request, response, report_only)
        for prefix, directives in _WIDER.items():
            if request.path_info.startswith(prefix):
                parts.update = {**(parts.update or {}), **directives}
        return parts
