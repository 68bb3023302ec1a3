"""Reserving one run: what is stored, and every reason to refuse."""

from typing import Any

import pytest

from runs import errors, transitions
from runs.models import Event, Project, Run, Workflow, WorkflowDefinition
from runs.states import ExecutionMode, Priority
from tests.builders import SOURCE, START, RunBuilder, digest_of, snapshot_of_everything

OTHER_SOURCE = {"kind": "file", "path": "flows/inventory.py", "hash": "1f"}


def mounted(*paths: list[str]) -> dict[str, Any]:
    """Sources with these mount paths."""
    mounts = [{"mountPath": path, "workflowName": "part", "source": OTHER_SOURCE} for path in paths]
    return {"root": SOURCE, "mounted": mounts}


def test_a_reserved_run_is_queued_and_available_at_once(make: RunBuilder) -> None:
    made = make.queued()

    run = made.run
    assert made.axes == ("queued", "queued")
    assert (run.created_at, run.updated_at, run.available_at, run.queue_updated_at) == (START,) * 4
    assert (run.started_at, run.finished_at, run.queue_finished_at, run.paused) == (None, None, None, False)


def test_a_reserved_run_has_a_lease_that_nobody_owns(make: RunBuilder) -> None:
    made = make.queued(priority=Priority.HIGH)

    lease = made.lease
    assert (lease.generation, lease.owner_id, lease.token_hash, lease.expires_at) == (0, None, None, None)
    assert (lease.ready_at, lease.priority, lease.workflow.name) == (START, Priority.HIGH, "inventory")


def test_reserving_is_the_runs_first_event_and_done_by_its_session(make: RunBuilder) -> None:
    made = make.queued(origin_session_id="a session")

    (event,) = made.events
    assert (event.type, event.revision, event.kind, event.key) == ("run.queued", 1, "run", made.run_id)
    assert (event.actor_type, event.actor_id, event.generation) == ("session", "a session", None)
    assert made.run.revision == 1


def test_no_input_is_null_and_no_launch_options_are_an_empty_object(make: RunBuilder) -> None:
    made = make.queued()

    assert bytes(made.run.input.content) == b"null"
    assert bytes(made.run.launch_options.content) == b"{}"


def test_documents_are_kept_in_their_canonical_form(make: RunBuilder) -> None:
    made = make.queued(input={"b": 1.0, "a": "é"}, launch_options={"z": None, "y": []})

    assert bytes(made.run.input.content) == '{"a":"é","b":1}'.encode()
    assert bytes(made.run.launch_options.content) == b'{"y":[],"z":null}'


def test_sources_are_stored_with_the_root_first(make: RunBuilder) -> None:
    made = make.queued(workflow_source=mounted(["z"], ["a", "b"]))

    part = '"part","file","flows/inventory.py","1f"'
    stored = f'[["","","builtin","inventory","1"],["a/b",{part}],["z",{part}]]'
    assert bytes(made.run.sources.content) == stored.encode()


def test_a_definition_is_stored_once_for_all_runs_of_its_digest(make: RunBuilder) -> None:
    first, second = make.queued(), make.queued()

    assert first.run.definition == second.run.definition
    assert (WorkflowDefinition.objects.count(), Workflow.objects.count()) == (1, 1)


def test_equal_documents_are_stored_once(make: RunBuilder) -> None:
    first, second = make.queued(input={"a": 1, "b": 2}), make.queued(input={"b": 2, "a": 1.0})

    assert first.run.input == second.run.input


@pytest.mark.parametrize("written", ["{}", "sha256:{}"])
def test_a_digest_may_be_given_with_its_algorithm_and_in_any_case(make: RunBuilder, written: str) -> None:
    bare = digest_of("inventory").removeprefix("sha256:")

    made = make.queued(definition_digest=written.format(bare.upper()))

    assert bytes(made.run.definition.digest).hex() == bare


@pytest.mark.parametrize("run_id", ["a", "7", "A.b_c-d", "x" * 200])
def test_a_run_id_of_letters_digits_and_three_signs_is_taken(make: RunBuilder, run_id: str) -> None:
    made = make.queued(run_id=run_id)

    assert made.run.run_id == run_id


@pytest.mark.parametrize(
    "run_id", ["", "x" * 201, "-a", ".a", "_a", "a b", "a ", " a", "a\n", "a/b", "é", "a\0", "\ud800", "a:b"]
)
def test_any_other_run_id_is_refused(make: RunBuilder, run_id: str) -> None:
    before = snapshot_of_everything()

    with pytest.raises(errors.InvalidRunId):
        make.queued(run_id=run_id)

    assert snapshot_of_everything() == before


# In the order in which they are looked at: of several faults the first is told.
FAULTS: list[tuple[type[errors.Refusal], dict[str, Any]]] = [
    (errors.InvalidRunId, {"run_id": "-"}),
    (errors.InvalidDigest, {"definition_digest": "sha256:1f"}),
    (errors.LineageKindMismatch, {"lineage_kind": "restart"}),
    (errors.RootWithRestartFields, {"restart_number": 1}),
    (errors.InvalidSource, {"workflow_source": {"kind": "magic"}}),
    (errors.InvalidDocument, {"input": float("nan")}),
    (errors.DefinitionConflict, {"definition_digest": digest_of("inventory"), "definition_snapshot": {"name": "new"}}),
    (errors.DuplicateMount, {"workflow_source": mounted(["a"], ["a"])}),
    (errors.SessionBusy, {"origin_session_id": "busy"}),
]


@pytest.mark.parametrize(("refusal", "fault"), FAULTS, ids=lambda value: getattr(value, "code", ""))
def test_a_fault_is_refused_and_nothing_is_stored(
    make: RunBuilder, refusal: type[errors.Refusal], fault: dict[str, Any]
) -> None:
    make.queued(origin_session_id="busy")
    before = snapshot_of_everything()

    with pytest.raises(refusal) as refused:
        make.queued(**fault)

    assert type(refused.value) is refusal
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("first", range(len(FAULTS)), ids=lambda first: FAULTS[first][0].code)
def test_of_several_faults_the_first_is_told(make: RunBuilder, first: int) -> None:
    make.queued(origin_session_id="busy")
    changes: dict[str, Any] = {}
    for _, fault in reversed(FAULTS[first:]):
        changes |= fault

    with pytest.raises(errors.Refusal) as refused:
        make.queued(**changes)

    assert type(refused.value) is FAULTS[first][0]


@pytest.mark.parametrize("fault", [fault for refusal, fault in FAULTS[2:]], ids=[r.code for r, _ in FAULTS[2:]])
def test_an_id_that_is_taken_is_told_before_everything_but_malformed_ids(
    make: RunBuilder, fault: dict[str, Any]
) -> None:
    taken = make.queued(origin_session_id="busy")
    before = snapshot_of_everything()

    with pytest.raises(errors.AlreadyReserved) as refused:
        make.queued(**(fault | {"run_id": taken.run_id}))

    assert refused.value.facts == {"run_id": taken.run_id}
    assert snapshot_of_everything() == before


def test_an_id_stays_taken_when_its_run_is_over(make: RunBuilder) -> None:
    over = make.completed()

    with pytest.raises(errors.AlreadyReserved):
        make.queued(run_id=over.run_id)


def test_a_busy_session_is_refused_with_the_run_that_holds_it(make: RunBuilder) -> None:
    holder = make.running(origin_session_id="busy")

    with pytest.raises(errors.SessionBusy) as refused:
        make.queued(origin_session_id="busy")

    assert refused.value.facts == {"run_id": holder.run_id}
    assert refused.value.action == errors.Action.RETRY


@pytest.mark.parametrize("state", ["queued", "starting", "running", "parked", "paused", "waiting", "expired"])
def test_an_unfinished_interactive_run_keeps_its_session(make: RunBuilder, state: str) -> None:
    getattr(make, state)(origin_session_id="busy")

    with pytest.raises(errors.SessionBusy):
        make.queued(origin_session_id="busy")


@pytest.mark.parametrize("state", ["completed", "failed", "timed_out", "cancelled"])
def test_a_finished_run_gives_its_session_free(make: RunBuilder, state: str) -> None:
    getattr(make, state)(origin_session_id="free")

    made = make.queued(origin_session_id="free")

    assert made.axes == ("queued", "queued")


def test_headless_runs_take_no_session(make: RunBuilder) -> None:
    make.queued(origin_session_id="shared")

    headless = [make.queued(origin_session_id="shared", execution_mode=ExecutionMode.HEADLESS) for _ in range(2)]

    assert [made.axes for made in headless] == [("queued", "queued")] * 2


def test_another_name_under_a_known_digest_is_a_conflict(make: RunBuilder) -> None:
    make.queued()

    with pytest.raises(errors.DefinitionConflict) as refused:
        make.queued(workflow_name="backup", definition_digest=digest_of("inventory"))

    assert refused.value.facts == {"definition_digest": digest_of("inventory")}


def test_a_digest_stays_bound_when_its_runs_are_over(make: RunBuilder) -> None:
    make.completed()

    with pytest.raises(errors.DefinitionConflict):
        make.queued(definition_snapshot={"name": "inventory", "steps": 2})


def test_an_empty_mount_path_is_the_roots_and_refused(make: RunBuilder) -> None:
    with pytest.raises(errors.DuplicateMount):
        make.queued(workflow_source=mounted([]))


def test_projects_share_neither_ids_nor_sessions_nor_digests(make: RunBuilder, other_project: Project) -> None:
    ours = make.queued(run_id="same", origin_session_id="same", input={"n": 1})

    theirs = RunBuilder(other_project).queued(
        run_id="same", origin_session_id="same", definition_snapshot={"name": "another"}, input={"n": 1}
    )

    assert Run.objects.filter(run_id="same").count() == 2
    assert ours.run.input != theirs.run.input
    assert {event.project_id for event in Event.objects.all()} == {ours.project.pk, theirs.project.pk}


def test_letter_case_and_nothing_else_can_tell_two_ids_apart(make: RunBuilder, project: Project) -> None:
    ids = ["Order-7", "order-7", "ORDER-7"]
    for run_id in ids:
        make.queued(run_id=run_id)

    transitions.cancel_unowned(project, "order-7")

    assert {run.run_id: run.status for run in Run.objects.all()} == {
        "Order-7": "queued",
        "order-7": "cancelled",
        "ORDER-7": "queued",
    }
