"""Reserving many runs at once: an outcome for each, in the order asked."""

from typing import Any

import pytest

from runs import errors, transitions
from runs.models import Event, Project, Run
from runs.states import LineageKind
from runs.transitions import BATCH_LIMIT, Claimant, Reserved
from tests.builders import HOST, LEASE_MS, RunBuilder, digest_of, snapshot_of_everything

Outcomes = list[Reserved | errors.Refusal]


def told(outcomes: Outcomes) -> list[str]:
    """Each outcome in a word: reserved, adopted or the refusal's code."""
    return [
        outcome.code if isinstance(outcome, errors.Refusal) else ("reserved", "adopted")[outcome.adopted]
        for outcome in outcomes
    ]


def test_each_item_has_its_outcome_in_the_order_asked(project: Project, make: RunBuilder) -> None:
    make.queued(run_id="taken")
    ids = ["b", "taken", "-", "a"]

    outcomes = transitions.reserve_all(project, [make.reservation(run_id=run_id) for run_id in ids])

    assert told(outcomes) == ["reserved", "already_reserved", "invalid_run_id", "reserved"]
    assert [outcome.run.run_id for outcome in outcomes if isinstance(outcome, Reserved)] == ["b", "a"]


def test_a_refused_item_leaves_the_others_alone(project: Project, make: RunBuilder) -> None:
    transitions.reserve_all(project, [make.reservation(run_id="-"), make.reservation(run_id="fine")])

    assert list(Run.objects.values_list("run_id", flat=True)) == ["fine"]


def test_of_two_items_for_one_run_the_first_counts(project: Project, make: RunBuilder) -> None:
    first = make.reservation(run_id="twice", input=1)

    outcomes = transitions.reserve_all(project, [first, make.reservation(run_id="twice", input=2)])

    assert told(outcomes) == ["reserved", "duplicate_item"]
    assert bytes(Run.objects.get().input.content) == b"1"


def test_of_two_equal_items_the_second_is_no_adoption(project: Project, make: RunBuilder) -> None:
    asked = make.reservation()

    outcomes = transitions.reserve_all(project, [asked, asked], adopt=True)

    assert told(outcomes) == ["reserved", "duplicate_item"]


def test_runs_are_made_and_adopted_in_one_batch(project: Project, make: RunBuilder) -> None:
    standing, new = make.reservation(), make.reservation()
    transitions.reserve(project, standing)

    outcomes = transitions.reserve_all(project, [new, standing], adopt=True)

    assert told(outcomes) == ["reserved", "adopted"]


@pytest.mark.parametrize(
    ("second", "code"),
    [
        ({"origin_session_id": "one"}, "session_busy"),
        ({"definition_snapshot": {"name": "inventory", "steps": 2}}, "definition_conflict"),
        ({"workflow_name": "backup", "definition_digest": digest_of("inventory")}, "definition_conflict"),
    ],
)
def test_what_only_one_can_have_goes_to_the_first_of_the_batch(
    project: Project, make: RunBuilder, second: dict[str, Any], code: str
) -> None:
    batch = [make.reservation(origin_session_id="one"), make.reservation(**second), make.reservation()]

    outcomes = transitions.reserve_all(project, batch)

    assert told(outcomes) == ["reserved", code, "reserved"]


def test_an_item_that_was_refused_takes_nothing_from_those_behind_it(project: Project, make: RunBuilder) -> None:
    make.queued(origin_session_id="busy")
    refused = make.reservation(origin_session_id="busy", workflow_name="backup", definition_snapshot={"steps": 1})

    outcomes = transitions.reserve_all(project, [refused, make.reservation(workflow_name="backup")])

    assert told(outcomes) == ["session_busy", "reserved"]


def test_a_parent_is_restarted_once_in_a_batch(project: Project, make: RunBuilder) -> None:
    parent = make.failed(origin_session_id="one")
    lineage = {
        "parent_run_id": parent.run_id,
        "lineage_kind": LineageKind.RESTART,
        "parent_run_revision": parent.run.revision,
        "origin_session_id": "one",
    }
    batch = [make.reservation(execution_mode="headless", **lineage) for _ in range(2)]

    outcomes = transitions.reserve_all(project, batch)

    assert told(outcomes) == ["reserved", "parent_already_restarted"]


def test_events_are_written_in_the_order_asked(project: Project, make: RunBuilder) -> None:
    ids = ["z", "a", "m"]

    transitions.reserve_all(project, [make.reservation(run_id=run_id) for run_id in ids])

    assert list(Event.objects.in_sequence().values_list("key", flat=True)) == ids


def test_runs_of_one_batch_are_claimed_by_their_ids(project: Project, make: RunBuilder) -> None:
    # They became available at one moment, and were inserted in the order of the key that batches are sorted by.
    transitions.reserve_all(project, [make.reservation(run_id=run_id) for run_id in ("z", "a", "m")])

    claimed = transitions.claim_next(project, Claimant(HOST, LEASE_MS), ["t1", "t2", "t3"])

    assert [run.run_id for run in claimed] == ["a", "m", "z"]


def test_a_full_batch_is_reserved(project: Project, make: RunBuilder) -> None:
    batch = [make.reservation(workflow_name=f"workflow {n}", input=n) for n in range(BATCH_LIMIT)]

    outcomes = transitions.reserve_all(project, batch)

    assert told(outcomes) == ["reserved"] * 100


def test_a_batch_above_the_cap_is_refused_as_a_whole(project: Project, make: RunBuilder) -> None:
    before = snapshot_of_everything()

    with pytest.raises(errors.BatchTooLarge) as refused:
        transitions.reserve_all(project, [make.reservation() for _ in range(BATCH_LIMIT + 1)])

    assert refused.value.facts == {"limit": 100}
    assert snapshot_of_everything() == before


def test_a_batch_of_which_all_is_refused_stores_nothing(project: Project, make: RunBuilder) -> None:
    before = snapshot_of_everything()

    transitions.reserve_all(project, [make.reservation(run_id="-"), make.reservation(workflow_source={})])

    assert snapshot_of_everything() == before


def test_an_empty_batch_is_answered_by_an_empty_one(project: Project) -> None:
    assert transitions.reserve_all(project, []) == []
