"""Events of a caller's own type: a note from outside, or the holder's record."""

import pytest

from runs import errors, reading, transitions
from runs.models import Project
from runs.transitions import Note
from runs.transitions.notes import PAYLOAD_LIMIT
from tests.builders import HOST, LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything

ANY_STATE = ["queued", "starting", "running", "expired", "parked", "paused", "waiting"]


@pytest.mark.parametrize("state", [*ANY_STATE, "completed", "failed", "timed_out", "cancelled"])
def test_a_note_can_be_left_on_a_run_in_any_state(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()
    before = made.run

    event = transitions.record_event(project, Note(made.run_id, "looked.at", {"why": "to see"}), OPERATOR)

    assert (event.type, event.payload, event.revision) == ("looked.at", '{"why":"to see"}', before.revision + 1)
    assert (event.actor_type, event.actor_id) == ("human", "operator")
    assert made.axes == (before.status, before.queue_status)


def test_the_holders_record_is_the_owners_under_its_generation(project: Project, make: RunBuilder) -> None:
    made = make.running()

    event = transitions.record_event(project, Note(made.run_id, "half.way", token=made.token), OPERATOR)

    assert (event.actor_type, event.actor_id, event.generation) == ("host", HOST, 1)


def test_a_note_tells_the_generation_under_which_it_was_left(project: Project, make: RunBuilder) -> None:
    queued, parked = make.queued(), make.parked()

    generations = [
        transitions.record_event(project, Note(made.run_id, "seen"), OPERATOR).generation for made in (queued, parked)
    ]

    assert generations == [None, 1]


def test_whoever_lost_the_run_records_nothing(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(LEASE_MS)
    before = snapshot_of_everything()

    with pytest.raises(errors.LeaseLost):
        transitions.record_event(project, Note(made.run_id, "half.way", token=made.token), OPERATOR)

    assert snapshot_of_everything() == before


def test_an_unknown_run_has_no_notes(project: Project) -> None:
    with pytest.raises(errors.RunNotFound):
        transitions.record_event(project, Note("nobody", "seen"), OPERATOR)


def test_a_payload_is_limited_in_its_stored_bytes(project: Project, make: RunBuilder) -> None:
    made = make.queued()
    room = PAYLOAD_LIMIT - len('{"x":""}')
    transitions.record_event(project, Note(made.run_id, "seen", {"x": "é" * (room // 2)}), OPERATOR)
    before = snapshot_of_everything()

    with pytest.raises(errors.InvalidDocument) as refused:
        transitions.record_event(project, Note(made.run_id, "seen", {"x": "é" * (room // 2 + 1)}), OPERATOR)

    assert refused.value.code == "payload_too_large"
    assert snapshot_of_everything() == before


def test_events_after_a_number_come_in_order(project: Project, make: RunBuilder) -> None:
    first, second = make.queued(), make.queued()
    seen = [
        transitions.record_event(project, Note(made.run_id, f"note {n}"), OPERATOR).pk
        for n, made in enumerate([first, second, first])
    ]

    assert [event.type for event in reading.run_events(first.run, after=seen[0])] == ["note 2"]
    assert [event.type for event in reading.events_after(project, seen[0])] == ["note 1", "note 2"]
