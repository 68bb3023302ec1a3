"""Requests repeated while the first is under way, or after it was committed and its answer lost; on real commits."""

import threading
from collections.abc import Callable

import pytest
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from runs.models import Event, Receipt, Run
from tests.api.cast import Caller, Reply, reservation
from tests.api.verbs import VERBS, Cast
from tests.soundness import assert_sound

TWINS = 4


@pytest.fixture(autouse=True)
def _rows(transactional_db: None) -> None:
    """Threads see what is committed."""


def at_once(calls: list[Callable[[], Reply]]) -> list[Reply]:
    """The replies to calls that all begin together, each in a thread of its own."""
    replies: dict[int, Reply] = {}
    barrier = threading.Barrier(len(calls))

    def made(number: int) -> None:
        try:
            barrier.wait()
            replies[number] = calls[number]()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=made, args=[number]) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == len(calls), "a thread failed"
    return [replies[number] for number in range(len(calls))]


def test_the_same_request_sent_many_times_at_once_is_carried_out_once(client: Caller) -> None:
    body = reservation()

    replies = at_once([lambda: Caller(client.secret).post("runs", body, key="one")] * TWINS)

    assert [reply.status for reply in replies] == [201] * TWINS
    assert len({reply.content for reply in replies}) == 1
    assert sum("Idempotency-Replayed" in reply.headers for reply in replies) == TWINS - 1
    assert (Run.objects.count(), Event.objects.count(), Receipt.objects.count()) == (1, 1, 1)
    assert_sound()


def test_other_requests_under_a_key_in_use_are_told_so_at_once_or_after(client: Caller) -> None:
    bodies = [reservation(run_id=f"twin-{number}") for number in range(TWINS)]

    replies = at_once([lambda body=body: Caller(client.secret).post("runs", body, key="one") for body in bodies])  # type: ignore[misc]

    assert sorted(reply.status for reply in replies) == [201] + [409] * (TWINS - 1)
    assert {reply.code for reply in replies} == {None, "idempotency_conflict"}
    assert Run.objects.count() == 1


def test_one_run_is_adopted_by_all_who_reserve_it_at_once(client: Caller) -> None:
    body = reservation()
    path = f"runs/{body.pop('run_id')}"

    replies = at_once([lambda: Caller(client.secret).put(path, body)] * TWINS)

    assert sorted(reply.status for reply in replies) == [200] * (TWINS - 1) + [201], [reply.body for reply in replies]
    assert Event.objects.count() == 1


@pytest.mark.parametrize("verb", ["reserve", "complete", "cancel", "complete_attempt", "reserve_all"])
def test_a_commit_that_landed_while_the_connection_broke_is_found_by_the_repeat(
    cast: Cast, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = VERBS[verb](cast)
    backend = type(connections["default"])
    commit = backend.commit

    def landed(self: BaseDatabaseWrapper) -> None:
        commit(self)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(backend, "commit", landed)
    lost = call.send(key="one")
    monkeypatch.undo()
    events = Event.objects.count()

    repeated = call.send(key="one")

    assert lost.problem == (503, "busy")
    assert repeated.status in (200, 201)
    assert repeated.headers["Idempotency-Replayed"] == "true"
    assert Event.objects.count() == events
    assert_sound()
