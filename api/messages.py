"""Messages to sessions and their turns on the wire. One method a verb."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response

from api import interaction_answers as answers
from api import interaction_requests as requests
from api import paging, queries
from api.converters import ONE_RUN
from api.endpoint import Endpoint
from api.errors import InvalidRequest
from api.interaction import Either, listed
from api.schema import described
from runs import reading, reading_people, transitions
from runs.states import MessageKind, MessageStatus, Scope, StopReason
from runs.transitions import Hold, MessageDraft

QUEUE = requests.QueueMessageRequest()
SEND = requests.SendMessageRequest()
OPEN = requests.OpenTurnRequest()
END = requests.EndTurnRequest()


class SessionMessages(Either):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": None}
    parameters = ("session", "status", "after_order", "limit")

    @described("interaction", "list_session_messages", gives=answers.OrderedMessages)
    def get(self, request: Request) -> Response:
        """A session's messages, of whatever run, in its order. For `runs:read` and for `runs:execute`."""
        self.need_either(Scope.RUNS_READ)
        if "session" not in self.query:
            raise InvalidRequest({"session": ["This is required."]})
        after, limit = queries.whole(self.query, "after_order", default=0), queries.page_size(self.query)
        found = reading_people.messages_to(self.project, self.query["session"]).filter(order__gt=after)
        if statuses := listed(self.query, "status", [*MessageStatus]):
            found = found.filter(status__in=statuses)
        shown = list(found[:limit])
        return Response(
            {
                "results": [answers.message(message) for message in shown],
                "next_after_order": shown[-1].order if shown else after,
                "limit": limit,
            }
        )


class Messages(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ, "POST": Scope.RUNS_EXECUTE}
    parameters = ("status", "cursor", "limit")

    @described("interaction", "list_messages", gives=answers.MessagePage)
    def get(self, request: Request, run_id: str) -> Response:
        """A run's messages in the order in which they were queued."""
        found = reading_people.messages_of(reading.run(self.project, run_id))
        if statuses := listed(self.query, "status", [*MessageStatus]):
            found = found.filter(status__in=statuses)
        return Response(paging.by_key(found, self.query, answers.message))

    @described(
        "interaction",
        "queue_message",
        takes=requests.QueueMessageRequest,
        gives=answers.Message,
        status=201,
        also={200: answers.Message},
    )
    def post(self, request: Request, run_id: str) -> Response:
        """Queue a message to a session (201); 200 gives back the message of this id and content as it stands."""
        asked = self.asked(QUEUE)
        hold = Hold(run_id, asked.pop("token"))
        draft = MessageDraft(**{**asked, "kind": MessageKind(asked["kind"])})

        def command() -> tuple[int, Any]:
            message, made = transitions.queue_message(self.project, hold, draft)
            return 201 if made else 200, answers.message(message)

        return self.once(command)


class Send(Either):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": None}

    @described("interaction", "send_message", takes=requests.SendMessageRequest, gives=answers.Message)
    def post(self, request: Request, run_id: str, message_id: str) -> Response:
        """Say that a pending message was sent, also of a run that is over. For `runs:write` and `runs:execute`."""
        self.need_either(Scope.RUNS_WRITE)
        evidence = self.asked(SEND)["evidence"]
        return self.once(
            lambda: (
                200,
                answers.message(transitions.send_message(self.project, run_id, message_id, self.actor, evidence)),
            )
        )


class OpenTurn(Either):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": None}

    @described(
        "interaction",
        "open_turn",
        takes=requests.OpenTurnRequest,
        gives=answers.Turn,
        status=201,
        also={200: answers.Turn},
    )
    def post(self, request: Request, run_id: str, message_id: str) -> Response:
        """Begin a session's work on a sent message (201); 200 gives back the turn of this id.

        For `runs:write` and `runs:execute`.
        """
        self.need_either(Scope.RUNS_WRITE)
        turn_id = self.asked(OPEN)["turn_id"]

        def command() -> tuple[int, Any]:
            turn, made = transitions.open_turn(self.project, run_id, message_id, turn_id, self.actor)
            return 201 if made else 200, answers.turn(turn)

        return self.once(command)


class EndTurn(Either):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": None}

    @described("interaction", "end_turn", takes=requests.EndTurnRequest, gives=answers.Turn)
    def post(self, request: Request, run_id: str, turn_id: str) -> Response:
        """End an open turn, saying why. For `runs:write` and `runs:execute`."""
        self.need_either(Scope.RUNS_WRITE)
        reason = StopReason(self.asked(END)["stop_reason"])
        return self.once(
            lambda: (200, answers.turn(transitions.end_turn(self.project, run_id, turn_id, reason, self.actor)))
        )


class Turns(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}
    parameters = ("cursor", "limit")

    @described("interaction", "list_turns", gives=answers.TurnPage)
    def get(self, request: Request, run_id: str) -> Response:
        """A run's turns in the order in which they were opened."""
        found = reading_people.turns_of(reading.run(self.project, run_id))
        return Response(paging.by_key(found, self.query, answers.turn))


_MESSAGE: Final = f"{ONE_RUN}/messages/<chosen:message_id>"
urlpatterns: list[URLPattern] = [
    path("messages", SessionMessages.as_view(), name="session-messages"),
    path(f"{ONE_RUN}/messages", Messages.as_view(), name="messages"),
    path(f"{_MESSAGE}/send", Send.as_view(), name="send-message"),
    path(f"{_MESSAGE}/turns", OpenTurn.as_view(), name="open-turn"),
    path(f"{ONE_RUN}/turns", Turns.as_view(), name="turns"),
    path(f"{ONE_RUN}/turns/<chosen:turn_id>/end", EndTurn.as_view(), name="end-turn"),
]
