"""What a superseded runner reports as its result: refused, and kept as evidence; never applied."""

from collections.abc import Callable

import pytest

from runs import errors, transitions
from runs.models import LateResult, Project
from runs.transitions import Completion, Failure
from runs.transitions.late import KEPT_PER_RUN
from tests.builders import LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything


@pytest.fixture
def late(make: RunBuilder, clock: FrozenClock) -> Made:
    """The run as its first holder knows it, which by now has a second one."""
    made = make.running()
    clock.advance(LEASE_MS)
    make.claimed(made, "host-b")
    return made


def completion(made: Made, output: object = None) -> Completion:
    return Completion(made.run_id, made.token, output)


def kept(made: Made) -> list[tuple[str, int, bytes]]:
    """What is kept of late reports: the verb, the generation at that time, the report's bytes."""
    found = LateResult.objects.filter(run=made.key).select_related("result").order_by("pk")
    return [(each.verb, each.generation, bytes(each.result.content)) for each in found]


def test_a_late_completion_is_refused_and_its_output_kept(project: Project, late: Made, clock: FrozenClock) -> None:
    with pytest.raises(errors.LeaseLost):
        transitions.complete(project, completion(late, {"x": 1}))

    transitions.keep_late_result(project, completion(late, {"x": 1}))

    assert kept(late) == [("complete", 2, b'{"x":1}')]
    assert LateResult.objects.get().created_at == clock.at


def test_a_late_failure_is_kept_with_its_code(project: Project, late: Made) -> None:
    transitions.keep_late_result(project, Failure(late.run_id, "broken", "It broke.", late.token))

    assert kept(late) == [("fail", 2, b'{"code":"broken","message":"It broke."}')]


def test_keeping_it_touches_nothing_of_the_run(project: Project, late: Made) -> None:
    before = snapshot_of_everything()

    transitions.keep_late_result(project, completion(late, {"x": 1}))

    after = snapshot_of_everything()
    assert {table for table in after if after[table] != before[table]} == {"runs_lateresult", "runs_blob"}


def test_the_same_report_again_is_the_same_evidence(project: Project, late: Made) -> None:
    first = transitions.keep_late_result(project, completion(late, {"x": 1}))

    again = transitions.keep_late_result(project, completion(late, {"x": 1}))

    assert first == again
    assert len(kept(late)) == 1


@pytest.mark.parametrize(
    "end",
    [
        lambda made: transitions.cancel(made.project, made.run_id, OPERATOR),
        lambda made: transitions.pause(made.project, made.run_id, OPERATOR),
    ],
    ids=["cancelled", "paused"],
)
def test_so_is_what_comes_after_a_cancel_or_a_pause(
    project: Project, late: Made, end: Callable[[Made], object]
) -> None:
    end(late)
    axes = late.axes

    transitions.keep_late_result(project, completion(late, {"x": 1}))

    assert (len(kept(late)), late.axes) == (1, axes)


def test_the_oldest_stay_and_no_more_are_kept(project: Project, late: Made) -> None:
    answers = [transitions.keep_late_result(project, completion(late, n)) for n in range(KEPT_PER_RUN + 2)]

    assert answers[KEPT_PER_RUN:] == [None, None]
    assert [content for _, _, content in kept(late)] == [str(n).encode() for n in range(KEPT_PER_RUN)]


def test_a_full_shelf_still_knows_what_it_holds(project: Project, late: Made) -> None:
    first = transitions.keep_late_result(project, completion(late, 0))
    for n in range(1, KEPT_PER_RUN):
        transitions.keep_late_result(project, completion(late, n))

    assert transitions.keep_late_result(project, completion(late, 0)) == first


def test_a_failure_without_a_token_is_nobodys_late_result(project: Project, late: Made) -> None:
    assert transitions.keep_late_result(project, Failure(late.run_id, "broken", "It broke.")) is None
    assert kept(late) == []


def test_it_goes_with_its_run(project: Project, make: RunBuilder, late: Made) -> None:
    transitions.keep_late_result(project, completion(late, {"x": 1}))
    transitions.pause(project, late.run_id, OPERATOR)
    transitions.unpause(project, late.run_id, OPERATOR)

    transitions.delete(project, make.claimed(late, "host-c").hold)

    assert not LateResult.objects.exists()


def test_another_projects_run_is_not_found(other_project: Project, late: Made) -> None:
    with pytest.raises(errors.RunNotFound):
        transitions.keep_late_result(other_project, completion(late))
