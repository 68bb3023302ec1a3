"""Lineage: a run's restart, the one that its parent can have."""

from typing import Any

import pytest

from runs import errors, transitions
from runs.models import Project, Run
from runs.states import ActorType, LineageKind
from runs.transitions import Note
from tests.builders import OPERATOR, Made, RunBuilder, snapshot_of_everything

SESSION = "the parent's session"


def lineage(parent: Made, **changes: Any) -> dict[str, Any]:
    """What a restart of `parent` says of it."""
    run = parent.run
    return {
        "parent_run_id": parent.run_id,
        "lineage_kind": LineageKind.RESTART,
        "parent_run_revision": run.revision,
        "origin_session_id": run.origin_session_id,
        **changes,
    }


@pytest.mark.parametrize("end", ["completed", "failed", "timed_out", "cancelled"])
def test_a_finished_run_can_be_restarted(make: RunBuilder, end: str) -> None:
    parent: Made = getattr(make, end)()

    child = make.queued(**lineage(parent))

    run = child.run
    assert (run.parent, run.root, run.lineage_kind) == (parent.run, parent.run, "restart")
    assert (run.restart_number, run.parent_run_revision) == (1, parent.run.revision)
    assert child.axes == ("queued", "queued")


def test_a_restart_leaves_its_parent_as_it_is(make: RunBuilder) -> None:
    parent = make.failed()
    before = parent.run, parent.lease, parent.events

    make.queued(**lineage(parent))

    assert [vars(row) for row in parent.events] != []
    assert (parent.run.revision, parent.axes) == (before[0].revision, ("failed", "failed"))
    assert parent.lease.generation == before[1].generation
    assert len(parent.events) == len(before[2])


def test_the_root_of_a_chain_is_its_first_run(make: RunBuilder, project: Project) -> None:
    first = make.failed()
    second = make.queued(**lineage(first))
    transitions.cancel(project, second.run_id, OPERATOR)

    third = make.queued(**lineage(second))

    assert (third.run.root, third.run.parent, third.run.restart_number) == (first.run, second.run, 2)


def test_the_restart_number_may_be_given_when_it_is_right(make: RunBuilder) -> None:
    parent = make.failed()

    child = make.queued(**lineage(parent, restart_number=1))

    assert child.run.restart_number == 1


def test_a_run_without_a_parent_is_its_own_root(make: RunBuilder) -> None:
    made = make.queued()

    assert (made.run.root_run_id, made.run.restart_number) == (made.run_id, 0)


# In the order in which they are looked at.
FAULTS: list[tuple[type[errors.Refusal], dict[str, Any]]] = [
    (errors.LineageKindMismatch, {"lineage_kind": None}),
    (errors.RunNotFound, {"parent_run_id": "nobody"}),
    (errors.ParentSession, {"origin_session_id": "another session"}),
    (errors.ParentRevisionMissing, {"parent_run_revision": None}),
    (errors.ParentRevisionChanged, {"parent_run_revision": 1}),
    (errors.RestartNumberMismatch, {"restart_number": 2}),
]


@pytest.mark.parametrize(("refusal", "fault"), FAULTS, ids=lambda value: getattr(value, "code", ""))
def test_a_restart_that_does_not_fit_its_parent_is_refused(
    make: RunBuilder, refusal: type[errors.Refusal], fault: dict[str, Any]
) -> None:
    parent = make.failed()
    before = snapshot_of_everything()

    with pytest.raises(refusal) as refused:
        make.queued(**lineage(parent, **fault))

    assert type(refused.value) is refusal
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("first", range(len(FAULTS)), ids=lambda first: FAULTS[first][0].code)
def test_of_several_faults_of_a_restart_the_first_is_told(make: RunBuilder, first: int) -> None:
    parent = make.failed()
    changes: dict[str, Any] = {}
    for _, fault in reversed(FAULTS[first:]):
        changes |= fault

    with pytest.raises(errors.Refusal) as refused:
        make.queued(**lineage(parent, **changes))

    assert type(refused.value) is FAULTS[first][0]


@pytest.mark.parametrize("revision", [-1, 2**53])
def test_a_parent_revision_that_can_not_be_one_counts_as_missing(make: RunBuilder, revision: int) -> None:
    parent = make.failed()

    with pytest.raises(errors.ParentRevisionMissing):
        make.queued(**lineage(parent, parent_run_revision=revision))


@pytest.mark.parametrize("state", ["queued", "starting", "running", "parked", "paused", "waiting", "expired"])
def test_an_unfinished_run_is_not_restarted(make: RunBuilder, state: str) -> None:
    parent: Made = getattr(make, state)()

    with pytest.raises(errors.ParentNotTerminal):
        make.queued(**lineage(parent))


def test_a_parent_that_moved_on_is_told_with_its_revision(make: RunBuilder, project: Project) -> None:
    parent = make.failed()
    seen = lineage(parent)
    transitions.record_event(project, Note(parent.run_id, "looked.at"), OPERATOR)

    with pytest.raises(errors.ParentRevisionChanged) as refused:
        make.queued(**seen)

    assert refused.value.facts == {"parent_run_id": parent.run_id, "revision": parent.run.revision}


def test_a_parent_has_one_restart_and_a_second_is_told_which(make: RunBuilder) -> None:
    parent = make.failed()
    child = make.queued(execution_mode="headless", **lineage(parent))
    before = snapshot_of_everything()

    with pytest.raises(errors.ParentAlreadyRestarted) as refused:
        make.queued(execution_mode="headless", **lineage(parent))

    assert refused.value.facts == {"run_id": child.run_id}
    assert snapshot_of_everything() == before


def test_a_restart_takes_the_session_like_any_run(make: RunBuilder) -> None:
    parent = make.failed(origin_session_id=SESSION)
    holder = make.queued(origin_session_id=SESSION)

    with pytest.raises(errors.SessionBusy) as refused:
        make.queued(**lineage(parent))

    assert refused.value.facts == {"run_id": holder.run_id}


def test_another_projects_run_is_no_parent(make: RunBuilder, other_project: Project) -> None:
    parent = RunBuilder(other_project).failed(origin_session_id=SESSION)

    with pytest.raises(errors.RunNotFound):
        make.queued(**lineage(parent))


def test_a_restart_is_queued_by_its_session(make: RunBuilder) -> None:
    child = make.queued(**lineage(make.failed(origin_session_id=SESSION)))

    (event,) = child.events
    assert (event.type, event.actor_type, event.actor_id) == ("run.queued", ActorType.SESSION, SESSION)


def test_a_restart_carries_its_own_input(make: RunBuilder) -> None:
    parent = make.failed(input={"n": 12345678901234567890123})

    child = make.queued(input={"n": 12345678901234567890123}, **lineage(parent))

    assert child.run.input == parent.run.input
    assert Run.objects.filter(root=parent.run).count() == 1
