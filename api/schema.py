"""How the OpenAPI document comes from the views: what each takes and gives, its scope, and the problems of all."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema

from api import filters, problems, receipts
from api.answers import Problem
from api.fields import Shape
from runs.states import Scope

F = TypeVar("F", bound=Callable[..., Any])

_WORDS: Mapping[str, str] = {
    "limit": "How many results at most; a cap applies, and the answer shows the number used.",
    "cursor": "`next` of the page before.",
    "at": "The number of an event: the view as it was after it.",
    "media_type": "Of the document; application/json where it is left out.",
    "after": "The sequence number of the last event that one has.",
    "after_order": "The order number of the last message that one has.",
    "session": "The session's id.",
}
_WHOLE_NUMBERS = frozenset({"limit", "at", "after", "after_order"})


def described(
    tag: str,
    name: str,
    *,
    takes: Any = None,
    gives: Any,
    status: int = 200,
    also: Mapping[int, Any] | None = None,
    examples: Mapping[str, Any] | None = None,
) -> Callable[[F], F]:
    """Describe a method of a view: its operation id, its body, its answer, and examples of bodies by their summary."""
    return extend_schema(
        operation_id=name,
        tags=[tag],
        request=takes,
        responses={status: gives, **(also or {})},
        examples=[
            OpenApiExample(summary, value=value, request_only=True) for summary, value in (examples or {}).items()
        ],
    )


class Described(AutoSchema):
    """AutoSchema that knows what this API's views declare."""

    def get_description(self) -> str:  # type: ignore[override]  # drf-spectacular's own signature
        scopes: Mapping[str, Scope | None] = getattr(self.view, "scopes", {})
        text: str = super().get_description() or ""
        scope = scopes.get(self.method)
        return f"{text}\n\nNeeds the scope `{scope}`." if scope else text

    def get_override_parameters(self) -> list[Any]:
        found = [_parameter(name) for name in sorted(getattr(self.view, "parameters", ()))] if self._reads else []
        if not self._reads and getattr(self.view, "keyed", False):
            found.append(_IDEMPOTENCY_KEY)
        return found

    @property
    def _reads(self) -> bool:
        return bool(self.method == "GET")

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        component = self.resolve_serializer(Problem, direction)
        bodies["default"] = {
            "description": "A problem: nothing was changed.",
            "content": {problems.MEDIA_TYPE: {"schema": component.ref}},
        }
        return bodies


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # a registering metaclass
    target_class = "api.auth.BearerToken"
    name = "accessToken"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An access token of the project: `wq_...`."}


def coded(result: dict[str, Any], **context: Any) -> dict[str, Any]:
    """List the codes of problems, with what each means (one of POSTPROCESSING_HOOKS)."""
    rows = [
        f"| `{code}` | {status} | {action} | {' '.join(sentence.split())} |"
        for code, (status, action, sentence) in problems.catalogue().items()
    ]
    problem = result["components"]["schemas"]["Problem"]
    problem["description"] += "\n\n" + "\n".join(["| code | status | action | |", "|---|---|---|---|", *rows])
    problem["properties"]["code"]["enum"] = list(problems.catalogue())
    return result


def closed(result: dict[str, Any], **context: Any) -> dict[str, Any]:
    """Say of every body that it takes no other members (one of POSTPROCESSING_HOOKS)."""
    for name in _names(Shape):
        if component := result["components"]["schemas"].get(name):
            component["additionalProperties"] = False
    return result


def _names(kind: type[Shape]) -> set[str]:
    return {kind.__name__}.union(*(_names(inner) for inner in kind.__subclasses__()))


_IDEMPOTENCY_KEY = OpenApiParameter(
    receipts.HEADER,
    {"type": "string", "pattern": "^[!-~]{1,200}$"},
    OpenApiParameter.HEADER,
    description=(
        "The same key with the same request brings the same answer again for 24 hours, with the header "
        f"`{receipts.REPLAYED}: true`; with another request it is refused."
    ),
)


def _parameter(name: str) -> OpenApiParameter:
    kind = {"type": "integer", "minimum": 0} if name in _WHOLE_NUMBERS else {"type": "string"}
    words = _WORDS.get(name) or str(filters.RunFilters.base_filters[name].label or "")
    return OpenApiParameter(name, kind, description=words, required=name == "session")
