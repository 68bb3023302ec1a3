"""Completing and failing: a run ends once, on both axes, and nothing of it stays open."""

from typing import Any

import pytest

from runs import errors, transitions
from runs.models import Project
from runs.transitions import BATCH_LIMIT, Claimant, Completion, Failure
from tests.builders import HOST, LEASE_MS, FrozenClock, Made, RunBuilder, snapshot_of_everything, write

Outcomes = list[Any]


def told(outcomes: Outcomes) -> list[str]:
    """Each outcome in a word: the run's status or the refusal's code."""
    return [getattr(outcome, "code", None) or outcome.status for outcome in outcomes]


def test_completing_ends_the_run_on_both_axes(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(9)

    transitions.complete(project, Completion(made.run_id, made.token, {"x": 2.0}))

    run = made.run
    assert made.axes == ("completed", "done")
    assert (run.finished_at, run.queue_finished_at, run.updated_at, run.queue_updated_at) == (clock.at,) * 4
    assert run.output is not None
    assert bytes(run.output.content) == b'{"x":2}'


def test_completing_releases_the_lease_and_keeps_the_generation(make: RunBuilder) -> None:
    made = make.completed()

    lease = made.lease
    assert (lease.owner_id, lease.token_hash, lease.expires_at, lease.ready_at) == (None,) * 4
    assert lease.generation == 1


def test_completing_is_one_event_of_the_holder(make: RunBuilder) -> None:
    made = make.completed()

    event = made.events[-1]
    assert (event.type, event.actor_id, event.generation) == ("run.queue_done", HOST, 1)


def test_no_output_is_null(make: RunBuilder) -> None:
    output = make.completed().run.output

    assert output is not None
    assert bytes(output.content) == b"null"


@pytest.mark.parametrize("state", ["starting", "running"])
def test_a_held_run_completes_from_any_open_status(project: Project, make: RunBuilder, state: str) -> None:
    made: Made = getattr(make, state)()

    transitions.complete(project, Completion(made.run_id, made.token))

    assert made.axes == ("completed", "done")


def test_a_run_completes_once(project: Project, make: RunBuilder) -> None:
    made = make.completed(output=1)
    before = snapshot_of_everything()

    with pytest.raises(errors.RunFinished) as refused:
        transitions.complete(project, Completion(made.run_id, made.token, 1))

    assert refused.value.facts == {"run_id": made.run_id, "status": "completed"}
    assert snapshot_of_everything() == before


def test_whether_a_late_completion_counts_is_judged_by_the_clock_alone(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    in_time, late = make.running(), make.running(lease_ms=LEASE_MS - 1)
    clock.advance(LEASE_MS - 1)

    outcomes = transitions.complete_all(project, [Completion(made.run_id, made.token) for made in (in_time, late)])

    assert told(outcomes) == ["completed", "lease_lost"]
    assert late.axes == ("running", "running")


def test_open_attempts_become_true_with_the_run(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    make.attempt(made)
    clock.advance(3)

    transitions.complete(project, Completion(made.run_id, made.token))

    (attempt,) = made.attempts
    assert (attempt.status, attempt.finished_at) == ("completed", clock.at)


def test_a_batch_stores_each_output_with_its_run(project: Project, make: RunBuilder) -> None:
    runs = [make.running() for _ in range(3)]

    transitions.complete_all(project, [Completion(m.run_id, m.token, n) for n, m in enumerate(runs)])

    outputs = [made.run.output for made in runs]
    assert [output and bytes(output.content) for output in outputs] == [b"0", b"1", b"2"]


def test_a_batch_has_an_outcome_for_each_in_the_order_asked(project: Project, make: RunBuilder) -> None:
    first, second, done = make.running(), make.running(), make.completed()
    batch = [
        Completion(second.run_id, second.token),
        Completion(done.run_id, done.token),
        Completion("nobody", "x"),
        Completion(first.run_id, "wrong"),
        Completion(second.run_id, second.token, "again"),
    ]

    outcomes = transitions.complete_all(project, batch)

    assert told(outcomes) == ["completed", "run_finished", "not_found", "lease_lost", "duplicate_item"]
    assert first.axes == ("running", "running")


def test_an_output_that_can_not_be_stored_is_refused_and_leaves_the_others_alone(
    project: Project, make: RunBuilder
) -> None:
    bad, good = make.running(), make.running()

    outcomes = transitions.complete_all(
        project, [Completion(bad.run_id, bad.token, {"x": "\0"}), Completion(good.run_id, good.token)]
    )

    assert told(outcomes) == ["invalid_text", "completed"]
    assert bad.axes == ("running", "running")


@pytest.mark.parametrize("verb", [transitions.complete_all, transitions.fail_all])
def test_a_batch_above_the_cap_is_refused_as_a_whole(project: Project, make: RunBuilder, verb: Any) -> None:
    make.running()
    item = Completion if verb is transitions.complete_all else Failure
    before = snapshot_of_everything()

    with pytest.raises(errors.BatchTooLarge):
        verb(project, [item(f"run-{n}", "x", "y") for n in range(BATCH_LIMIT + 1)])

    assert snapshot_of_everything() == before


def test_failing_ends_the_run_with_code_and_message(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    clock.advance(9)

    transitions.fail(project, Failure(made.run_id, "broken", "It broke.", made.token))

    run = made.run
    assert (made.axes, run.error_code, run.finished_at) == (("failed", "failed"), "broken", clock.at)
    assert run.error is not None
    assert bytes(run.error.content) == b"It broke."
    assert run.queue_error == run.error
    assert (run.output, made.lease.owner_id) == (None, None)


def test_failing_is_one_event_of_the_holder_with_the_error(make: RunBuilder) -> None:
    made = make.failed(code="broken", message="It broke.")

    event = made.events[-1]
    assert (event.type, event.actor_id, event.generation) == ("run.queue_failed", HOST, 1)
    assert event.payload == '{"code":"broken","error":"It broke.","status":"failed"}'


def test_open_attempts_fail_with_the_run_and_its_error(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    made = make.running()
    done = make.attempt(made, "done")
    transitions.complete_attempt(project, made.hold, done, "kept")
    make.attempt(made, "open")
    clock.advance(3)

    transitions.fail(project, Failure(made.run_id, "broken", "It broke.", made.token))

    kept, lost = made.attempts
    assert (kept.status, kept.error) == ("completed", None)
    assert (lost.status, lost.finished_at, lost.error) == ("failed", clock.at, made.run.error)


@pytest.mark.parametrize("state", ["queued", "starting", "parked"])
def test_without_a_token_a_run_fails_only_while_nobody_has_begun_it(
    project: Project, make: RunBuilder, state: str
) -> None:
    made: Made = getattr(make, state)()

    outcomes = transitions.fail_all(project, [Failure(made.run_id, "withdrawn", "Not wanted.")])

    assert told(outcomes) == [{"queued": "failed", "starting": "lease_held", "parked": "run_begun"}[state]]


def test_an_expired_owner_is_still_an_owner_to_whom_it_is_left(
    project: Project, make: RunBuilder, clock: FrozenClock
) -> None:
    made = make.starting()
    clock.advance(LEASE_MS)

    with pytest.raises(errors.LeaseHeld):
        transitions.fail(project, Failure(made.run_id, "withdrawn", "Not wanted."))


def test_without_a_token_the_system_did_it(project: Project, make: RunBuilder) -> None:
    made = make.queued()

    transitions.fail(project, Failure(made.run_id, "withdrawn", "Not wanted."))

    event = made.events[-1]
    assert (event.type, event.actor_type, event.actor_id, event.generation) == (
        "run.queue_failed",
        "system",
        None,
        None,
    )


def test_a_message_is_kept_whole(make: RunBuilder) -> None:
    made = make.failed(message="x" * 20_000)

    assert made.run.error is not None
    assert made.run.error.size == 20_000


def test_a_text_and_a_document_of_the_same_bytes_are_two(make: RunBuilder) -> None:
    done, failed = make.completed(output={"a": 1}), make.failed(message='{"a":1}')

    assert done.run.output != failed.run.error


def test_a_finished_run_frees_its_lease_for_nobody(project: Project, make: RunBuilder, clock: FrozenClock) -> None:
    make.completed()
    make.failed()
    clock.advance(LEASE_MS)

    assert transitions.claim_next(project, Claimant(HOST, LEASE_MS), ["a token"]) == []


def test_an_ended_run_is_not_paused(project: Project, make: RunBuilder) -> None:
    made = make.running()
    write(made, paused=True, status_detail="paused")

    transitions.complete(project, Completion(made.run_id, made.token))

    assert (made.run.paused, made.run.status_detail) == (False, None)
