"""Who calls: bearer tokens and their scopes. Which run a caller holds is not decided here but by lease tokens."""

import logging
import re
from typing import TYPE_CHECKING, Any, Final

from django.db import DatabaseError, InterfaceError
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now
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

    def authenticate(self, request: Request) -> tuple[Any, AccessToken] | None:
        """The token's user (none for a service token) and the token; unknown, expired and revoked ones look alike."""
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        credentials = _CREDENTIALS.fullmatch(header)
        token = _usable(credentials[1]) if credentials else None
        if token is None:
            raise errors.Unauthenticated
        return token.user, token

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
    """Have the token's use noted once the answer has been sent: no caller waits for that write, or fails with it."""
    if getattr(token, "is_due_for_a_stamp", False):
        response._resource_closers.append(lambda: _stamp(token))  # type: ignore[attr-defined]


def _stamp(token: AccessToken) -> None:
    try:
        transitions.stamp_use(token, clock.now())
    except (DatabaseError, InterfaceError):
        logger.info("The use of access token %s was not noted: the database was busy.", token.pk)


def _usable(secret: str) -> AccessToken | None:
    is_due = Case(
        When(Q(last_used_at=None) | Q(last_used_at__lte=Now() - STAMPED_EVERY), then=Value(True)), default=Value(False)
    )
    # One statement for most requests; the clock, which may be another one, is asked only about tokens that expire.
    tokens = AccessToken.objects.select_related("project", "user").annotate(is_due_for_a_stamp=is_due)
    token = tokens.filter(secret_hash=rules.token_hash(secret), revoked_at=None).first()
    if token is not None and token.expires_at is not None and token.expires_at <= clock.now():
        return None
    return token
