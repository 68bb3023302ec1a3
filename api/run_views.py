"""What viewers get over HTTP: a run's view now or at any event of its past, and the documents that it names."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpResponse
from django.urls import URLPattern, path
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api import converters, queries, shapes
from api.answers import Anything
from api.endpoint import Endpoint
from api.errors import InvalidRequest
from api.schema import described
from runs import errors, models, reading, reading_view
from runs.models.blob import JSON
from runs.states import Scope


class RunView(serializers.Serializer[Any]):
    """A run as a viewer sees it; docs/live.md says what stands in `view`."""

    cursor = serializers.IntegerField(help_text="The number of the last event that is in it.")
    at = serializers.DateTimeField(help_text="The server's time, or that of the event.")
    view = Anything()
    cut = serializers.ListField(child=serializers.CharField(), help_text="Kinds of which only the newest are in it.")
    definition = Anything()


class View(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}
    parameters = ("at",)

    @described("clients", "view_run", gives=RunView)
    def get(self, request: Request, run_id: str) -> Response:
        """The run's view as it stands, or, with `at`, as it was after the event of that number."""
        run = reading.run(self.project, run_id)
        if "at" in self.query:
            found = reading_view.replayed(run, queries.whole(self.query, "at", default=0))
        else:
            found = self._standing(run)
        return Response(
            {
                "cursor": found.cursor,
                "at": shapes.time(found.at),
                "view": found.view,
                "cut": found.cut,
                "definition": shapes.document(run.definition.snapshot),
            }
        )

    def _standing(self, run: models.Run) -> reading_view.Snapshot:
        found = reading_view.snapshot(run.pk)
        if found is None:  # deleted in the meantime
            raise errors.RunNotFound(run_id=run.run_id)
        return found


class Document(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}
    parameters = ("media_type",)

    @described("clients", "get_document", gives=OpenApiTypes.BINARY)
    def get(self, request: Request, digest: str) -> HttpResponse:
        """The bytes of a stored document or text of the project, by the digest that a view names."""
        if not digest.startswith("sha256:"):
            raise InvalidRequest({"digest": ["A digest begins with sha256:."]})
        blob = reading.document(self.project, digest, self.query.get("media_type", JSON))
        response = HttpResponse(bytes(blob.content), content_type=blob.media_type)
        # Whatever a run has stored is shown to nobody as a page.
        response.headers["Content-Disposition"] = "attachment"
        response.headers["X-Content-Type-Options"] = "nosniff"
        # The same digest is the same bytes for ever.
        response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return response


converters.register()

urlpatterns: list[URLPattern] = [
    path("runs/<run:run_id>/view", View.as_view(), name="view"),
    path("documents/<str:digest>", Document.as_view(), name="document"),
]
