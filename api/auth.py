"""Who calls: bearer tokens and their scopes. Which run a caller holds is not decided here but by lease tokens."""

import logging
import math
import re
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from django.db import DatabaseError, InterfaceError
from django.http import HttpResponseBase
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from api import errors
from runs import clock, rules, transitions
from runs.models import AccessToken
from runs.states import Scope
from runs.transitions.tokens import STAMPED_EVERY

if TYPE_CHECKING:
    # Django REST framework imports this module while it is itself being imported.
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)

_CREDENTIALS: Final = re.compile(r"bearer +(wq_[A-Za-z0-9_-]{43}) *", re.IGNORECASE)


class BearerToken(BaseAuthentication):
    """`Authorization: Bearer wq_...`, and nothing else: no cookies, no query string, so that no CSRF is possible."""

    def authenticate(self, request: Request) -> tuple[None, AccessToken] | None:
        """No user, since tokens are not people, and the token; unknown, expired and revoked ones look alike."""
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        credentials = _CREDENTIALS.fullmatch(header)
        token = _usable(credentials[1]) if credentials else None
        if token is None:
            raise errors.Unauthenticated
        return None, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class HasScope(BasePermission):
    """The token has the scope that the view names for the method; None there means that the view asks by itself."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if request.auth is None:
            raise errors.Unauthenticated
        scopes: dict[str, Scope | None] = getattr(view, "scopes", {})
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in view.allowed_methods:
            return True  # to be told so by the view
        # A method that names none at all is a fault in the view, and stays shut.
        scope = scopes[method]
        if scope is not None:
            need(request, scope)
        return True


def need(request: Request, scope: Scope) -> None:
    """Refuse a token without this scope, naming it."""
    token: Any = request.auth
    if not token.grants(scope):
        raise errors.ScopeMissing(scope=scope.value)


def stamp_after(response: HttpResponseBase, token: AccessToken) -> None:
    """Have the token's use noted once the answer has been sent: no caller waits for that write, or fails with it.

    At most once a minute for each process, so that most requests cost no write; the note itself keeps the same pace.
    """
    secret_hash, now = bytes(token.secret_hash), monotonic()
    if now - _noted.get(secret_hash, -math.inf) >= STAMPED_EVERY.total_seconds():
        _noted[secret_hash] = now
        response._resource_closers.append(lambda: _stamp(token))  # type: ignore[attr-defined]


def _stamp(token: AccessToken) -> None:
    try:
        transitions.stamp_use(token, clock.now())
    except (DatabaseError, InterfaceError):
        logger.info("The use of access token %s was not noted: the database was busy.", token.pk)


def _usable(secret: str) -> AccessToken | None:
    tokens = AccessToken.objects.select_related("project")
    try:
        token = tokens.get(secret_hash=rules.token_hash(secret), revoked_at=None)
    except AccessToken.DoesNotExist:
        return None
    # The clock may be another statement: it is asked only about tokens that expire.
    if token.expires_at is not None and token.expires_at <= clock.now():
        return None
    return token


# When this process last noted a token's use, by the hash of its secret; only tokens that let somebody in get here.
_noted: dict[bytes, float] = {}
