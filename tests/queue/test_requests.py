"""Requests to a session: the run waits, the session answers, a runner validates, and the run goes on."""

import pytest

from runs import canonical, errors, transitions
from runs.journal import Actor
from runs.models import Blob
from runs.states import ActorType
from runs.transitions import Observation, RequestAsk, Submission
from tests.builders import LEASE_MS, FrozenClock, RunBuilder, snapshot_of_everything
from tests.queue.people_cast import SESSION, Asked, PeopleBuilder, intervals


def content(blob: Blob | None) -> object:
    return None if blob is None else canonical.loads(bytes(blob.content))


def content_of(payload: str) -> dict[str, object]:
    found = canonical.loads(payload.encode())
    assert isinstance(found, dict)
    return found  # type: ignore[return-value]


@pytest.fixture
def people(make: RunBuilder) -> PeopleBuilder:
    return PeopleBuilder(make)


def test_raising_a_request_lets_run_and_attempt_wait(people: PeopleBuilder, clock: FrozenClock) -> None:
    made = people.make.running()
    people.make.attempt(made, attempt_id="a1")
    clock.advance(4_000)
    transitions.progress_attempt(made.project, made.hold, Observation("a1", active_ms=3_500))
    observed_at = clock.at
    clock.advance(500)

    request, is_new = transitions.raise_request(
        made.project, made.hold, RequestAsk("q1", "a1", "session-9", "agent", {"type": "text"})
    )

    assert (is_new, request.status, request.revision, content(request.contract)) == (
        True, "pending", 1, {"type": "text"}
    )  # fmt: skip
    run, (attempt,) = made.run, made.attempts
    assert (run.status, run.status_detail, attempt.status) == ("waiting", "waiting for origin-session input", "waiting")
    assert (run.lease.pending_requests, run.lease.open_work, run.lease.ready_at) == (1, 1, None)
    # What nobody observed of the interval is not counted.
    (interval,) = intervals(made)
    assert (interval.elapsed_ms, interval.ended_at) == (3_500, observed_at)
    event = made.events[-1]
    assert (event.type, event.actor_type, event.generation) == ("request.raised", "host", 1)
    assert content_of(event.payload)["requestId"] == "q1"


def test_a_raised_request_is_progress(people: PeopleBuilder) -> None:
    made = people.make.expired()
    made = people.make.claimed(made, "host-b")
    transitions.mark_running(made.project, made.hold)
    assert made.run.consecutive_errors == 1

    asked = people.raised(made)

    assert (asked.made.run.consecutive_errors, asked.made.lease.progressed) == (0, True)


def test_a_parked_run_that_waits_is_handed_to_nobody(people: PeopleBuilder) -> None:
    asked = people.waiting()

    assert people.next_holder(asked.made) is None
    with pytest.raises(errors.RequestPending):
        people.make.claimed(asked.made, "host-b")


def test_the_answer_is_validated_and_the_run_goes_on(people: PeopleBuilder, clock: FrozenClock) -> None:
    asked = people.submitted()
    clock.advance(1_000)
    asked = asked.held_for_validation()

    submission = transitions.accept_submission(asked.project, asked.made.hold, "q1", "s1", {"note": "fine"})

    assert (submission.outcome, content(submission.receipt)) == ("accepted", {"status": "accepted", "note": "fine"})
    request, run, (attempt,) = asked.request, asked.made.run, asked.made.attempts
    assert (request.status, request.revision, request.settled_at, request.accepted_submission_id) == (
        "settled", 2, clock.at, "s1"
    )  # fmt: skip
    assert (run.status, run.status_detail, run.queue_status) == ("running", None, "starting")
    # The attempt belongs to the new holder, with a new interval: the wait is not active time.
    assert (attempt.status, attempt.generation) == ("running", 2)
    assert [(each.number, each.started_at, each.ended_at is None) for each in intervals(asked.made)] == [
        (1, attempt.started_at, False), (2, clock.at, True)
    ]  # fmt: skip
    assert asked.made.event_types[-3:] == ["request.submitted", "lease.claimed", "request.settled"]
    transitions.complete_attempt(asked.project, asked.made.hold, "a1", "done")


def test_a_holder_that_waits_itself_takes_the_answer_under_the_same_lease(people: PeopleBuilder) -> None:
    asked = people.raised()
    asked.submit()

    asked.accept()

    assert asked.made.axes == ("running", "running")


def test_a_rejected_answer_leaves_the_request_pending(people: PeopleBuilder) -> None:
    asked = people.validated()

    transitions.reject_submission(asked.project, asked.made.hold, "q1", "s1", "Not a number.")

    assert content(asked.submission().receipt) == {"status": "rejected", "error": "Not a number."}
    assert (asked.request.status, asked.request.revision, asked.made.run.status) == ("pending", 1, "waiting")
    assert asked.made.event_types[-1] == "request.submission_rejected"
    transitions.park(asked.project, asked.made.hold)
    assert asked.submit("s2", 42)


def test_the_same_submission_again_brings_its_receipt_whatever_became_of_the_run(people: PeopleBuilder) -> None:
    asked = people.settled()
    transitions.cancel_held(asked.project, asked.made.hold)
    before = snapshot_of_everything()

    standing, is_new = transitions.submit(
        asked.project, asked.made.run_id, Submission("q1", "s1", 1, "an answer"), SESSION
    )

    assert (is_new, content(standing.receipt)) == (False, {"status": "accepted"})
    assert snapshot_of_everything() == before


def test_an_old_answer_never_answers_a_new_question(people: PeopleBuilder) -> None:
    """HUMAN-2: the first question was answered, the run went on and asks another one of the same kind."""
    first = people.settled()
    transitions.mark_running(first.project, first.made.hold)
    transitions.complete_attempt(first.project, first.made.hold, "a1", "done")
    second = people.raised(first.made, "q2", "a2")
    transitions.park(second.project, second.made.hold)
    before = snapshot_of_everything()

    assert not first.submit()
    with pytest.raises(errors.SubmissionConflict):
        first.submit(payload="another answer")
    with pytest.raises(errors.RequestSettled) as refused:
        first.submit("s2")
    with pytest.raises(errors.RequestNotFound):
        Asked(second.made, "").submit("s3")
    with pytest.raises(errors.RequestPending):
        transitions.request_resume(second.project, second.made.run_id)
    assert people.next_holder(second.made) is None

    assert refused.value.facts["accepted_submission_id"] == "s1"
    assert snapshot_of_everything() == before
    restarted = second.held_for_validation()
    transitions.park(restarted.project, restarted.made.hold)
    assert (second.request.status, second.request.submissions.count()) == ("pending", 0)


def test_a_submission_names_the_revision_that_was_seen(people: PeopleBuilder) -> None:
    asked = people.waiting()

    with pytest.raises(errors.RequestOutdated) as refused:
        asked.submit(revision=2)

    assert refused.value.facts["revision"] == 1


def test_one_submission_is_validated_at_a_time(people: PeopleBuilder) -> None:
    asked = people.submitted()

    with pytest.raises(errors.SubmissionValidating) as refused:
        asked.submit("s2")

    assert (refused.value.facts["submission_id"], refused.value.action) == ("s1", errors.Action.RETRY)


def test_another_session_does_not_answer(people: PeopleBuilder) -> None:
    asked = people.waiting()
    other = Actor(ActorType.SESSION, "another session")

    with pytest.raises(errors.WrongSession):
        transitions.submit(asked.project, asked.made.run_id, Submission("q1", "s1", 1), other)


def test_a_paused_run_keeps_its_answer_and_validates_it_after_the_pause(people: PeopleBuilder) -> None:
    asked = people.waiting()
    transitions.pause(asked.project, asked.made.run_id, SESSION)

    assert asked.submit()
    held = asked.held_for_validation()
    with pytest.raises(errors.RunPaused):
        held.accept()

    transitions.unpause(asked.project, asked.made.run_id, SESSION)
    held.accept()
    assert asked.submission().outcome == "accepted"


def test_a_submission_to_a_run_that_was_replaced_names_its_successor(people: PeopleBuilder) -> None:
    """CTRL-7: nobody is told "finished" while a live successor exists, unless it is named."""
    asked = people.waiting()
    transitions.cancel(asked.project, asked.made.run_id, SESSION)
    run = asked.made.run
    successor = people.make.queued(
        origin_session_id=run.origin_session_id,
        parent_run_id=run.run_id,
        lineage_kind="restart",
        parent_run_revision=run.revision,
    )

    with pytest.raises(errors.RunCancelled) as refused:
        asked.submit()

    assert refused.value.facts["restarted_as"] == successor.run_id


def test_an_answer_that_was_taken_gets_a_receipt_from_a_cancel(people: PeopleBuilder) -> None:
    asked = people.submitted()

    transitions.cancel(asked.project, asked.made.run_id, SESSION)

    assert content(asked.submission().receipt) == {"status": "rejected", "error": "Workflow run cancelled"}
    assert not asked.submit()


def test_withdrawing_lets_the_run_go_on_without_an_answer(people: PeopleBuilder) -> None:
    asked = people.validated()

    transitions.withdraw_request(asked.project, asked.made.hold, "q1")

    request, run, (attempt,) = asked.request, asked.made.run, asked.made.attempts
    assert (request.status, request.revision, request.settled_at) == ("cancelled", 2, None)
    assert (run.status, attempt.status, run.lease.pending_requests) == ("running", "running", 0)
    assert (asked.submission().outcome, asked.made.event_types[-1]) == ("rejected", "request.withdrawn")


def test_a_repeated_step_gets_its_request_back_as_it_stands(people: PeopleBuilder) -> None:
    asked = people.settled()
    transitions.mark_running(asked.project, asked.made.hold)
    before = snapshot_of_everything()

    standing, is_new = transitions.raise_request(
        asked.project, asked.made.hold, RequestAsk("q1", "another attempt", SESSION.id or "")
    )

    assert (is_new, standing.status, standing.accepted_submission_id) == (False, "settled", "s1")
    with pytest.raises(errors.RequestConflict):
        transitions.raise_request(asked.project, asked.made.hold, RequestAsk("q1", "a1", SESSION.id or "", "form"))
    assert snapshot_of_everything() == before


def test_an_attempt_of_an_earlier_holder_raises_nothing(people: PeopleBuilder, clock: FrozenClock) -> None:
    made = people.make.running()
    people.make.attempt(made, attempt_id="a1")
    clock.advance(LEASE_MS)
    made = people.make.claimed(made, "host-b")
    transitions.mark_running(made.project, made.hold)

    with pytest.raises(errors.AttemptSettled):
        transitions.raise_request(made.project, made.hold, RequestAsk("q1", "a1", "session"))
    with pytest.raises(errors.AttemptNotFound):
        transitions.raise_request(made.project, made.hold, RequestAsk("q1", "a2", "session"))


@pytest.mark.parametrize("value", ["", "x" * 201, "a\0b", "\ud800"])
def test_ids_are_bounded_text(people: PeopleBuilder, value: str) -> None:
    made = people.make.running()
    before = snapshot_of_everything()

    with pytest.raises(errors.Invalid):
        transitions.raise_request(made.project, made.hold, RequestAsk(value, "a1", "session"))

    assert snapshot_of_everything() == before


def test_a_run_raises_so_many_requests_and_no_more(people: PeopleBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.rules_sessions.REQUEST_LIMIT", 1)
    asked = people.settled()
    transitions.mark_running(asked.project, asked.made.hold)

    with pytest.raises(errors.TooMany):
        people.raised(asked.made, "q2", "a1")


def test_a_wait_of_a_day_holds_nothing_and_costs_no_active_time(people: PeopleBuilder, clock: FrozenClock) -> None:
    """HUMAN-4, for a session."""
    asked = people.waiting()
    clock.advance(26 * 3_600_000)
    lease = asked.made.lease
    assert (lease.owner_id, lease.ready_at, asked.made.run.consecutive_errors) == (None, None, 0)

    asked.submit()
    held = asked.held_for_validation()
    held.accept()

    elapsed = [each.elapsed_ms for each in intervals(held.made)]
    assert (elapsed, held.made.run.consecutive_errors) == ([0, 0], 0)
