"""What all addresses of the API have in common: token, scope, strict query and body, receipts. No verb lives here."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api import auth, errors, parsers, queries, receipts
from api.fields import Shape, validated
from runs.journal import Actor
from runs.models import AccessToken, Project
from runs.states import ActorType, Scope

Command = Callable[[], tuple[int, Any]]


class Endpoint(APIView):
    """One address; a method each for what it takes."""

    # By method. None: the view asks for a scope itself, since the body decides which.
    scopes: ClassVar[Mapping[str, Scope | None]]
    # What a GET takes in its query string; nothing else takes anything there.
    parameters: ClassVar[Collection[str]] = ()
    # Whether changes are answered from receipts where the caller sends an Idempotency-Key.
    keyed: ClassVar[bool] = True

    http_method_names: ClassVar[list[str]] = ["get", "head", "post", "put"]  # type: ignore[misc]

    query: dict[str, str]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        reads = request.method in ("GET", "HEAD")
        self.query = queries.read(request._request, self.parameters if reads else ())

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers["Cache-Control"] = "no-store"
        token = getattr(request, "_auth", None)
        if token is not None:
            auth.stamp_after(response, token)
        return response

    @property
    def token(self) -> AccessToken:
        token: Any = self.request.auth
        assert isinstance(token, AccessToken), "nobody gets here without one"
        return token

    @property
    def project(self) -> Project:
        return self.token.project

    @property
    def actor(self) -> Actor:
        """The caller as one who acts from outside of any lease."""
        return Actor(ActorType.CONTROL, self.token.name)

    def need(self, scope: Scope) -> None:
        """Refuse a token without this scope."""
        auth.need(self.request, scope)

    def asked(self, shape: Shape) -> dict[str, Any]:
        """The body as this shape wants it."""
        self.body = parsers.read(self.request._request)
        return validated(shape, self.body)

    def once(self, command: Command) -> Response:
        """Carry out a change, or answer it from its receipt where it was carried out under this key before."""
        return receipts.answered(self.request._request, self.token, self.body, command)


class Nowhere(Endpoint):
    """Every address that stands for nothing."""

    scopes: ClassVar[Mapping[str, Scope | None]] = {}
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.auth is None:
            raise errors.Unauthenticated
        raise errors.NotFound
