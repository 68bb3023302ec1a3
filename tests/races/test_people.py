"""What waits for people, against time and against the end of its run: one winner."""

from functools import partial

from runs import errors, transitions
from runs.transitions import Completion, RequestAsk
from tests.builders import FrozenClock, RunBuilder
from tests.queue.people_cast import ANN, Asked, PeopleBuilder, within
from tests.races.meeting import Crowd


def test_an_answer_against_its_deadline_has_one_winner(make: RunBuilder, clock: FrozenClock, rounds: int) -> None:
    people = PeopleBuilder(make)

    def deadline_passes() -> None:
        clock.advance(1_000)
        transitions.expire_decisions()

    with Crowd(2) as crowd:
        for _ in range(rounds):
            decided = people.undecided(deadline_at=within(clock, 1), default_response={"choice": "no"})
            deadline = within(clock, 1)

            answer = partial(decided.answer, "yes", ANN, request_digest=decided.digest)
            answered, _ = crowd.at_once(answer, deadline_passes)

            decision = decided.decision
            if answered.is_late:
                assert (decision.resolution.provenance, answered.submission.created_at) == ("policy", deadline)
            else:
                assert (decision.resolution.provenance, decision.resolution.resolved_at < deadline) == ("human", True)
            assert decided.events.count("decision.resolved") == 1


def test_a_request_raised_against_a_completion_is_pending_on_no_completed_run(make: RunBuilder, rounds: int) -> None:
    runs = make.many_running(rounds)
    for made in runs:
        make.attempt(made, attempt_id="a1")

    with Crowd(2) as crowd:
        for made in runs:
            raised, completed = crowd.at_once(
                partial(transitions.raise_request, made.project, made.hold, RequestAsk("q1", "a1", "session")),
                partial(transitions.complete, made.project, Completion(made.run_id, made.token)),
            )

            if isinstance(completed, errors.OpenWork):
                assert (Asked(made).request.status, made.run.status) == ("pending", "waiting")
            else:
                assert (type(raised), made.run.status) == (errors.RunFinished, "completed")
