"""Reserve or adopt: the same request finds its run again, another one is told what differs."""

from dataclasses import replace
from typing import Any

import pytest

from runs import errors, transitions
from runs.models import Project, Run
from tests.builders import SOURCE, Made, RunBuilder, digest_of, snapshot_of_everything
from tests.queue.test_reserving import mounted
from tests.queue.test_restarting import lineage


def test_a_new_id_is_reserved(project: Project, make: RunBuilder) -> None:
    reserved = transitions.reserve_or_adopt(project, make.reservation(run_id="new"))

    assert (reserved.adopted, reserved.run.run_id) == (False, "new")


def test_the_same_request_adopts_and_changes_nothing(project: Project, make: RunBuilder) -> None:
    asked = make.reservation(input={"n": 1}, launch_options={"dry": True})
    transitions.reserve(project, asked)
    before = snapshot_of_everything()

    reserved = transitions.reserve_or_adopt(project, asked)

    assert (reserved.adopted, reserved.run) == (True, Run.objects.get())
    assert snapshot_of_everything() == before


@pytest.mark.parametrize(
    ("stands", "again"),
    [
        ({"input": {"a": 1, "b": [2]}}, {"input": {"b": [2.0], "a": 1}}),
        ({"input": None}, {}),
        ({"launch_options": {}}, {"launch_options": None}),
        ({"definition_digest": digest_of("inventory")}, {"definition_digest": digest_of("inventory")[7:].upper()}),
        ({"workflow_source": SOURCE}, {"workflow_source": {"root": SOURCE, "mounted": []}}),
        ({"workflow_source": mounted(["a"], ["b"])}, {"workflow_source": mounted(["b"], ["a"])}),
        ({"workflow_source": mounted(["a", "b"])}, {"workflow_source": mounted(["a/b"])}),
        ({"definition_snapshot": {"x": 1, "y": 2}}, {"definition_snapshot": {"y": 2, "x": 1.0}}),
        ({"input": "\U0001f600"}, {"input": "😀"}),
    ],
    ids=["key order", "null input", "no options", "digest", "no mounts", "mount order", "joined", "snapshot", "emoji"],
)
def test_what_means_the_same_is_adopted(
    project: Project, make: RunBuilder, stands: dict[str, Any], again: dict[str, Any]
) -> None:
    asked = make.reservation()
    transitions.reserve(project, replace(asked, **stands))

    reserved = transitions.reserve_or_adopt(project, replace(asked, **again) if again else asked)

    assert reserved.adopted


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("workflow_ref", {"workflow_ref": "inventory@2"}),
        ("workflow_source", {"workflow_source": {**SOURCE, "revision": "2"}}),
        ("workflow_source", {"workflow_source": mounted(["a"])}),
        ("input", {"input": {"n": 1, "m": 2}}),
        ("input", {"input": {"n": True}}),
        ("input", {"input": {"n": "1"}}),
        ("input", {"input": None}),
        ("launch_options", {"launch_options": {"dry": False}}),
        ("origin_session_id", {"origin_session_id": "another"}),
        ("execution_mode", {"execution_mode": "headless"}),
    ],
)
def test_other_content_is_a_conflict_that_names_the_field(
    project: Project, make: RunBuilder, field: str, change: dict[str, Any]
) -> None:
    asked = make.reservation(input={"n": 1})
    transitions.reserve(project, asked)
    before = snapshot_of_everything()

    with pytest.raises(errors.PreparationConflict) as refused:
        transitions.reserve_or_adopt(project, replace(asked, **change))

    assert refused.value.facts == {"run_id": asked.run_id, "fields": [field]}
    assert snapshot_of_everything() == before


def test_another_workflow_differs_in_all_that_names_it(project: Project, make: RunBuilder) -> None:
    asked = make.reservation()
    transitions.reserve(project, asked)

    with pytest.raises(errors.PreparationConflict) as refused:
        transitions.reserve_or_adopt(project, make.reservation(run_id=asked.run_id, workflow_name="backup"))

    assert refused.value.facts["fields"] == ["workflow_name", "workflow_ref", "definition_digest", "origin_session_id"]


def test_another_snapshot_under_the_same_digest_is_a_definition_conflict(project: Project, make: RunBuilder) -> None:
    asked = make.reservation()
    transitions.reserve(project, asked)

    with pytest.raises(errors.DefinitionConflict):
        transitions.reserve_or_adopt(project, replace(asked, definition_snapshot={"other": 1}))


@pytest.mark.parametrize("state", ["running", "parked", "completed", "failed", "cancelled", "expired"])
def test_a_run_is_adopted_however_it_stands(project: Project, make: RunBuilder, state: str) -> None:
    asked = make.reservation(run_id="standing")
    made: Made = getattr(make, state)(run_id=asked.run_id, origin_session_id=asked.origin_session_id)
    before = snapshot_of_everything()

    reserved = transitions.reserve_or_adopt(project, asked)

    assert (reserved.adopted, reserved.run.status) == (True, made.run.status)
    assert snapshot_of_everything() == before


def test_the_priority_is_no_content(project: Project, make: RunBuilder) -> None:
    asked = make.reservation(priority=0)
    transitions.reserve(project, asked)

    reserved = transitions.reserve_or_adopt(project, replace(asked, priority=2))

    assert (reserved.adopted, reserved.run.priority) == (True, 0)


def test_a_restart_is_adopted_with_its_number_given_or_not(project: Project, make: RunBuilder) -> None:
    asked = make.reservation(**lineage(make.failed()))
    transitions.reserve(project, asked)

    outcomes = transitions.reserve_all(project, [replace(asked, restart_number=1)], adopt=True)
    again = transitions.reserve_or_adopt(project, asked)

    assert [getattr(outcome, "adopted", outcome) for outcome in [*outcomes, again]] == [True, True]


def test_a_restart_differs_from_a_root_in_every_field_of_lineage(project: Project, make: RunBuilder) -> None:
    parent = make.failed()
    asked = make.reservation(origin_session_id=parent.run.origin_session_id)
    transitions.reserve(project, asked)

    with pytest.raises(errors.PreparationConflict) as refused:
        transitions.reserve_or_adopt(project, replace(asked, **lineage(parent)))

    assert refused.value.facts["fields"] == [
        "parent_run_id",
        "root_run_id",
        "lineage_kind",
        "restart_number",
        "parent_run_revision",
    ]


def test_the_same_id_in_another_project_is_another_run(
    project: Project, other_project: Project, make: RunBuilder
) -> None:
    asked = make.reservation()
    transitions.reserve(project, asked)

    reserved = transitions.reserve_or_adopt(other_project, asked)

    assert (reserved.adopted, Run.objects.count()) == (False, 2)
