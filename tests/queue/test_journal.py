"""The journal: revisions without holes, one chain of digests a run, listeners that hear after commit."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F

from runs import errors, journal, reading, signals, transitions
from runs.models import Event, Project, Run
from runs.reading import FeedPosition
from runs.transitions import Claimant, Completion, Note
from tests.builders import LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder
from tests.soundness import assert_sound, events_with_a_wrong_digest_in_sql


@pytest.fixture
def eventful(project: Project, make: RunBuilder, clock: FrozenClock) -> Made:
    """A run with every kind of member in its events: no owner and several, long text, odd characters."""
    made = make.running(origin_session_id="séance \U0001f600")
    for payload in ({}, {"x": 'a"b\\c\n\u2028😀'}, {"n": 10**40, "deep": [[[{"": None}]]]}, {"long": "é" * 5_000}):
        transitions.record_event(project, Note(made.run_id, "note: 7:x", payload), OPERATOR)
        clock.advance(1)
    make.attempt(made)
    clock.advance(LEASE_MS)
    second = make.claimed(made, "wörker")
    transitions.complete(project, Completion(second.run_id, second.token, {"x": 1}))
    return second


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    """What a listener was told."""
    told: list[Any] = []

    def listen(moved: list[Any], **_: object) -> None:
        told.append(moved)

    signals.runs_moved.connect(listen)
    yield told
    signals.runs_moved.disconnect(listen)


def test_a_runs_revision_is_the_number_of_its_events(eventful: Made) -> None:
    revisions = [event.revision for event in eventful.events]

    assert revisions == list(range(1, eventful.run.revision + 1))


def test_the_first_event_builds_on_nothing(make: RunBuilder) -> None:
    made = make.queued()

    (event,) = made.events
    assert bytes(event.digest) == journal.chained(bytes(32), event)


def test_the_fixed_text_form_names_the_length_of_every_member(make: RunBuilder) -> None:
    made = make.queued(run_id="r1", origin_session_id="é")

    (event,) = made.events
    assert event.changes is not None
    told = f"{len(event.changes.encode())}:{event.changes}"
    assert journal.text_form(event) == "3:run2:r11:110:run.queued7:session2:é-2:{}13:1796094000000" + told


def test_an_event_from_before_there_were_views_keeps_its_text_form(make: RunBuilder) -> None:
    (event,) = make.queued(run_id="r1", origin_session_id="é").events

    event.changes = None

    assert journal.text_form(event) == "3:run2:r11:110:run.queued7:session2:é-2:{}13:1796094000000"


@pytest.mark.postgres
def test_sql_computes_the_same_chain_as_python(eventful: Made, make: RunBuilder) -> None:
    make.cancelled()
    make.failed(message="x" * 9_000)

    assert events_with_a_wrong_digest_in_sql() == []
    assert_sound()


@pytest.mark.parametrize(
    "change",
    [
        {"payload": '{"x":2}'},
        {"type": "something.else"},
        {"actor_id": "somebody else"},
        {"actor_type": "policy"},
        {"generation": 7},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_event_is_noticed(eventful: Made, change: dict[str, Any]) -> None:
    event = eventful.events[4]

    with transaction.atomic():
        Event.objects.filter(pk=event.pk).update(**change)
        with pytest.raises(AssertionError, match="digest"):
            assert_sound()
        in_sql = events_with_a_wrong_digest_in_sql() if connection.vendor == "postgresql" else [event.pk]
        transaction.set_rollback(True)

    assert in_sql == [event.pk]


def test_a_removed_event_is_noticed(eventful: Made) -> None:
    with transaction.atomic():
        Event.objects.filter(pk=eventful.events[4].pk).delete()
        with pytest.raises(AssertionError, match="digest"):
            assert_sound()
        transaction.set_rollback(True)


def test_a_removed_newest_event_is_noticed(make: RunBuilder) -> None:
    made = make.running()

    with transaction.atomic():
        Event.objects.filter(pk=made.events[-1].pk).delete()
        Run.objects.filter(pk=made.run.pk).update(revision=F("revision") - 1)
        with pytest.raises(AssertionError, match="head"):
            assert_sound()
        transaction.set_rollback(True)


def test_within_a_run_sequence_order_is_the_order_of_revisions(eventful: Made) -> None:
    revisions = [event.revision for event in reading.run_events(eventful.run)]

    assert revisions == sorted(revisions)


@pytest.mark.django_db(transaction=True)
def test_listeners_hear_once_and_after_commit(make: RunBuilder, heard: list[Any]) -> None:
    with transaction.atomic():
        transitions.reserve_all(make.project, [make.reservation(run_id="a"), make.reservation(run_id="b")])
        before_commit = list(heard)

    (moved,) = heard
    keys = {run.run_id: run.pk for run in Run.objects.all()}
    assert before_commit == []
    assert sorted(moved) == [(make.project.pk, keys["a"], "a"), (make.project.pk, keys["b"], "b")]


@pytest.mark.django_db(transaction=True)
def test_listeners_do_not_hear_what_was_refused(make: RunBuilder, heard: list[Any]) -> None:
    made = make.completed()
    heard.clear()

    with pytest.raises(errors.RunFinished):
        transitions.park(make.project, made.hold)

    assert heard == []


@pytest.mark.django_db(transaction=True)
def test_a_listener_that_fails_undoes_nothing(make: RunBuilder) -> None:
    def listen(**_: object) -> None:
        raise ZeroDivisionError

    signals.runs_moved.connect(listen)
    try:
        made = make.queued()
    finally:
        signals.runs_moved.disconnect(listen)

    assert made.axes == ("queued", "queued")


@pytest.mark.django_db(transaction=True)
def test_a_renewal_tells_nobody(make: RunBuilder, heard: list[Any]) -> None:
    made = make.running()
    heard.clear()

    transitions.renew(make.project, made.hold, LEASE_MS)

    assert heard == []


@pytest.mark.django_db(transaction=True)
def test_the_projects_feed_gives_every_event_once_page_by_page(
    project: Project, other_project: Project, make: RunBuilder
) -> None:
    first, second = make.queued(), make.running()
    RunBuilder(other_project).queued()
    transitions.claim(project, first.run_id, Claimant("host-a", LEASE_MS), "a token")

    read: list[int] = []
    place = FeedPosition()
    while page := list(reading.feed(project, place)[:2]):
        read += [event.pk for event in page]
        place = FeedPosition(page[-1].transaction_id, page[-1].pk)

    expected = [event.pk for made in (first, second) for event in made.events]
    assert sorted(read) == sorted(expected)
    assert len(read) == len(expected)
