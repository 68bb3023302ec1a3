"""The journal on the wire: a run's events, the project's feed, and events that callers record."""

from collections.abc import Mapping
from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from api import answers, paging, queries, requests, shapes
from api.endpoint import Endpoint
from api.schema import described
from runs import reading, transitions
from runs.states import Scope
from runs.transitions import Note

EVENT = requests.EventRequest()


class RunEvents(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ, "POST": None}
    parameters = ("after", "limit")

    @described("events", "list_events", gives=answers.EventPage)
    def get(self, request: Request, run_id: str) -> Response:
        """A run's events in order, from the one after `after` on."""
        after = queries.whole(self.query, "after", default=0)
        events = reading.run_events(reading.run(self.project, run_id), after)
        return Response(paging.of_events(events, after, self.query, shapes.event))

    @described("events", "record_event", takes=requests.EventRequest, gives=answers.Event, status=201)
    def post(self, request: Request, run_id: str) -> Response:
        """Record an event: the holder's with a lease token (scope `runs:execute`), else a note (`runs:write`)."""
        asked = self.asked(EVENT)
        self.need(Scope.RUNS_EXECUTE if "token" in asked else Scope.RUNS_WRITE)
        note = Note(run_id, asked["type"], asked["payload"], asked.get("token"))
        return self.once(lambda: (201, shapes.event(transitions.record_event(self.project, note, self.actor))))


class Feed(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}
    parameters = ("cursor", "limit")

    @described("events", "feed", gives=answers.FeedPage)
    def get(self, request: Request) -> Response:
        """The events of all of the project's runs; none ever appears before one that was read already."""
        return Response(paging.of_feed(self.project, self.query, shapes.event))
