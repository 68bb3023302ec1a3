"""The same idempotency key at one moment: one command, and all are answered alike."""

from functools import partial
from itertools import count

import pytest

from runs import errors, transitions
from runs.models import AccessToken, Project, Receipt, Run
from runs.states import Scope
from runs.transitions import Answer, Completion, Reservation
from tests.builders import RunBuilder
from tests.races.meeting import Crowd, codes

REQUEST, OTHER_REQUEST = b"r" * 32, b"o" * 32


@pytest.fixture
def token(project: Project) -> AccessToken:
    return transitions.issue_access_token(project, "client", [Scope.RUNS_WRITE])[0]


def test_one_command_is_done_and_all_get_its_answer(make: RunBuilder, token: AccessToken, rounds: int) -> None:
    calls = count()

    def reserve(asked: Reservation) -> Answer:
        next(calls)
        return Answer(201, {"run_id": transitions.reserve(make.project, asked).run_id})

    with Crowd(4) as crowd:
        for number in range(rounds // 2):
            command = partial(reserve, make.reservation())
            same = partial(transitions.answered_once, token, f"key {number}", REQUEST, command)

            answers = crowd.at_once(*[same] * 4)

            assert len({(answer.status, answer.body["run_id"]) for answer in answers}) == 1
            assert sorted(answer.replayed for answer in answers) == [False, True, True, True]
    assert Run.objects.count() == Receipt.objects.count() == rounds // 2


def test_of_two_requests_under_one_key_one_is_done_and_the_other_a_conflict(
    make: RunBuilder, token: AccessToken, rounds: int
) -> None:
    def reserve(asked: Reservation) -> Answer:
        return Answer(201, transitions.reserve(make.project, asked).run_id)

    with Crowd(2) as crowd:
        for number in range(rounds):
            outcomes = crowd.at_once(
                *[
                    partial(
                        transitions.answered_once, token, f"key {number}", request, partial(reserve, make.reservation())
                    )
                    for request in (REQUEST, OTHER_REQUEST)
                ]
            )

            assert codes(outcomes) == ["done", "idempotency_conflict"]
    assert Run.objects.count() == rounds


def test_a_refused_command_in_flight_leaves_the_key_to_the_next(
    make: RunBuilder, token: AccessToken, rounds: int
) -> None:
    runs = make.many_running(rounds)

    def complete(run_id: str, with_token: str) -> Answer:
        transitions.complete(make.project, Completion(run_id, with_token))
        return Answer(200, run_id)

    with Crowd(2) as crowd:
        for made in runs:
            outcomes = crowd.at_once(
                *[
                    partial(
                        transitions.answered_once, token, made.run_id, REQUEST, partial(complete, made.run_id, held_by)
                    )
                    for held_by in (made.token, "a wrong token")
                ]
            )

            # Whoever is second is answered by the first one's receipt, or, where that was refused, by itself.
            assert isinstance(outcomes[0], Answer)
            assert isinstance(outcomes[1], Answer | errors.LeaseLost)
    assert set(Run.objects.values_list("status", flat=True)) == {"completed"}
