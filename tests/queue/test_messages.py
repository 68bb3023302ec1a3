"""Messages to a session in its own order, and the turns in which the session takes them."""

from typing import Any

import pytest

from runs import canonical, errors, reading_people, rules_sessions, transitions
from runs.journal import Actor
from runs.models import Project, WorkflowMessage, WorkflowTurn
from runs.states import ActorType, MessageKind, StopReason
from runs.transitions import Completion, MessageDraft
from tests.builders import OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything

SESSION = "session-9"
COURIER = Actor(ActorType.CONTROL, "courier")


def queue(made: Made, message_id: str = "m1", **changes: Any) -> WorkflowMessage:
    draft = MessageDraft(message_id, **{"target_session_id": SESSION, **changes})
    return transitions.queue_message(made.project, made.hold, draft)[0]


def send(made: Made, message_id: str = "m1", evidence: Any = None) -> WorkflowMessage:
    return transitions.send_message(made.project, made.run_id, message_id, COURIER, evidence)


def open_turn(made: Made, turn_id: str = "t1", message_id: str = "m1") -> tuple[WorkflowTurn, bool]:
    return transitions.open_turn(made.project, made.run_id, message_id, turn_id, COURIER)


def end_turn(made: Made, reason: StopReason = StopReason.COMPLETED) -> WorkflowTurn:
    return transitions.end_turn(made.project, made.run_id, "t1", reason, COURIER)


@pytest.fixture
def held(make: RunBuilder) -> Made:
    return make.running()


def test_messages_of_several_runs_share_their_sessions_order(make: RunBuilder, held: Made) -> None:
    other = make.running()

    orders = [
        queue(held).order,
        queue(other, "n1").order,
        queue(held, "m2", target_session_id="another").order,
        queue(held, "m3").order,
    ]

    assert orders == [1, 2, 1, 3]
    assert [m.message_id for m in reading_people.messages_to(held.project, SESSION)] == ["m1", "n1", "m3"]
    assert held.event_types[-1] == "message.queued"


def test_another_projects_session_has_an_order_of_its_own(held: Made, other_project: Project) -> None:
    queue(held)

    assert queue(RunBuilder(other_project).running()).order == 1


def test_a_message_queued_again_is_given_back(held: Made) -> None:
    first = queue(held, content={"text": "hello"})
    before = snapshot_of_everything()

    assert queue(held, content={"text": "hello"}) == first
    with pytest.raises(errors.MessageConflict):
        queue(held, content={"text": "goodbye"})
    assert snapshot_of_everything() == before


def test_a_message_is_sent_once_with_evidence(held: Made, clock: FrozenClock) -> None:
    queue(held)
    clock.advance(5)

    message = send(held, evidence={"chat": 7})

    assert message.evidence is not None
    assert canonical.loads(bytes(message.evidence.content)) == {"chat": 7}
    event = held.events[-1]
    assert (message.status, message.updated_at) == ("sent", clock.at)
    assert (event.type, event.actor_id, event.generation) == ("message.sent", "courier", None)
    with pytest.raises(errors.MessageSettled):
        send(held)


def test_what_tells_of_the_end_is_sent_after_it_and_the_rest_is_cancelled(held: Made) -> None:
    for number, kind in enumerate(MessageKind):
        queue(held, f"m{number}", kind=kind)

    transitions.complete(held.project, Completion(held.run_id, held.token))

    statuses = {m.kind: m.status for m in reading_people.messages_of(held.run)}
    assert statuses == {
        "step": "cancelled", "decision": "cancelled", "notification": "pending", "terminal": "pending",
        "followUp": "pending",
    }  # fmt: skip
    message = reading_people.messages_of(held.run).get(kind="terminal")
    send(held, message.message_id)
    with pytest.raises(errors.RunFinished):
        open_turn(held, message_id=message.message_id)


def test_a_message_has_one_open_turn(held: Made) -> None:
    queue(held)
    with pytest.raises(errors.MessageNotSent):
        open_turn(held)
    send(held)

    _, is_new = open_turn(held)

    assert is_new
    assert open_turn(held)[1] is False
    with pytest.raises(errors.TurnOpen):
        open_turn(held, "t2")
    end_turn(held, StopReason.FAILED)
    assert open_turn(held, "t2")[1]
    assert held.event_types[-4:] == ["message.sent", "turn.started", "turn.ended", "turn.started"]


def test_a_turn_ends_once(held: Made, clock: FrozenClock) -> None:
    queue(held)
    send(held)
    open_turn(held)
    clock.advance(5)

    turn = end_turn(held)

    assert (turn.stop_reason, turn.ended_at) == ("completed", clock.at)
    with pytest.raises(errors.TurnEnded):
        end_turn(held)


def test_a_turn_belongs_to_its_message(held: Made) -> None:
    for message_id in ("m1", "m2"):
        queue(held, message_id)
        send(held, message_id)
    open_turn(held)

    with pytest.raises(errors.TurnConflict):
        open_turn(held, message_id="m2")


def test_open_turns_are_lost_with_their_run(held: Made) -> None:
    queue(held)
    send(held)
    open_turn(held)

    transitions.cancel(held.project, held.run_id, OPERATOR)

    turn = WorkflowTurn.objects.get(turn_id="t1")
    assert turn.stop_reason == "lost"
    with pytest.raises(errors.TurnEnded):
        end_turn(held)


def test_a_run_queues_so_many_messages_and_no_more(held: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_sessions, "MESSAGE_LIMIT", 1)
    queue(held)

    with pytest.raises(errors.TooMany):
        queue(held, "m2")


def test_unknown_messages_and_turns_are_not_found(held: Made) -> None:
    queue(held)

    with pytest.raises(errors.MessageNotFound):
        send(held, "m2")
    with pytest.raises(errors.MessageNotFound):
        open_turn(held, message_id="m2")
    with pytest.raises(errors.TurnNotFound):
        end_turn(held)
