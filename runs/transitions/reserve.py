"""Reserving runs: each is made once, with its definition, sources, input and lineage, or adopted where it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from runs import clock, errors, journal, rules
from runs.journal import Actor
from runs.models import Blob, Event, Lease, Project, Run, WorkflowDefinition
from runs.states import ActorType
from runs.transitions import blobs, definitions, mutex, texts
from runs.transitions.blobs import Content
from runs.transitions.mutex import transition
from runs.transitions.reservation import Prepared, Reservation, adopted, lineage, prepared
from runs.transitions.slots import Slots


@dataclass(frozen=True, slots=True)
class Reserved:
    """A run, and whether it stood there before."""

    run: Run
    adopted: bool


Outcome = Reserved | errors.Refusal


def reserve(project: Project, asked: Reservation) -> Run:
    """Make a run. Refuses an id that is taken, a busy session, and lineage or a definition that does not fit."""
    return _only(reserve_all(project, [asked])).run


def reserve_or_adopt(project: Project, asked: Reservation) -> Reserved:
    """Make a run, or adopt the one of this id where it was reserved with equal content; refuses other content."""
    return _only(reserve_all(project, [asked], adopt=True))


@transition
def reserve_all(project: Project, batch: Sequence[Reservation], *, adopt: bool = False) -> list[Outcome]:
    """The same for many runs at once, with an outcome for each in the order asked."""
    mutex.check_batch(batch)
    parents = mutex.lock(project, [asked.parent_run_id for asked in batch if asked.parent_run_id])
    now = clock.now()

    outcomes, asked_for = _checked(project, batch, parents, adopt=adopt)
    slots = Slots(project, list(asked_for.values()), parents)
    for place, item in list(asked_for.items()):
        try:
            slots.let_in(item)
        except errors.Refusal as refusal:
            outcomes[place] = refusal
            del asked_for[place]

    runs = _made(project, list(asked_for.values()), parents, now)
    events = [_queued(run, now) for run in runs]
    # In order of the unique key, so that two batches can't wait for each other in a circle.
    Run.objects.bulk_create(sorted(runs, key=lambda run: run.run_id))
    Lease.objects.bulk_create([run.lease for run in runs])

    journal.write(events)
    outcomes |= {place: Reserved(run, adopted=False) for place, run in zip(asked_for, runs, strict=True)}
    return [outcomes[place] for place in range(len(batch))]


def _checked(
    project: Project, batch: Sequence[Reservation], parents: Mapping[str, Run], *, adopt: bool
) -> tuple[dict[int, Outcome], dict[int, Prepared]]:
    """By place in the batch: what is refused or adopted already, and what may be made if its slots are free."""
    ids = set(filter(rules.is_run_id, (asked.run_id for asked in batch)))
    standing = {run.run_id: run for run in Run.objects.with_documents().filter(project=project, run_id__in=ids)}
    outcomes: dict[int, Outcome] = {}
    asked_for: dict[int, Prepared] = {}
    seen: set[str] = set()
    for place, asked in enumerate(batch):
        try:
            digest = _admissible(asked, seen)
            run = standing.get(asked.run_id)
            if run is None:
                lineage(asked, parents)
                asked_for[place] = prepared(asked, digest)
            elif adopt:
                outcomes[place] = Reserved(adopted(run, prepared(asked, digest), parents), adopted=True)
            else:
                raise errors.AlreadyReserved(run_id=asked.run_id)
        except errors.Refusal as refusal:
            outcomes[place] = refusal
    return outcomes, asked_for


def _admissible(asked: Reservation, seen: set[str]) -> bytes:
    rules.run_id(asked.run_id)
    digest = rules.digest(asked.definition_digest)
    if asked.run_id in seen:
        raise errors.DuplicateItem(run_id=asked.run_id)
    seen.add(asked.run_id)
    texts.check(asked)
    return digest


def _made(project: Project, items: Sequence[Prepared], parents: Mapping[str, Run], at: datetime) -> list[Run]:
    """The runs of these items with their leases, not yet stored; what they refer to is."""
    if not items:
        return []
    stored = blobs.stored(project, [content for item in items for content in item.contents], at)
    workflows = definitions.workflows(project, [item.asked.workflow_name for item in items])
    defined = definitions.stored(
        project,
        {item.digest: (workflows[item.asked.workflow_name], stored[item.snapshot], item.lost_runner) for item in items},
        at,
    )
    if any(not definitions.agrees(defined[item.digest], item.asked.workflow_name, item.snapshot) for item in items):
        raise mutex.Overtaken
    return [_run(project, item, defined[item.digest], stored, parents, at) for item in items]


def _run(
    project: Project,
    item: Prepared,
    definition: WorkflowDefinition,
    stored: Mapping[Content, Blob],
    parents: Mapping[str, Run],
    at: datetime,
) -> Run:
    asked = item.asked
    parent = parents[asked.parent_run_id] if asked.parent_run_id else None
    run = Run(
        project=project,
        run_id=asked.run_id,
        workflow=definition.workflow,
        definition=definition,
        workflow_ref=asked.workflow_ref,
        sources=stored[item.sources],
        origin_session_id=asked.origin_session_id,
        execution_mode=asked.execution_mode,
        priority=asked.priority,
        parent=parent,
        root=(parent.root or parent) if parent else None,
        lineage_kind=asked.lineage_kind,
        restart_number=parent.restart_number + 1 if parent else 0,
        parent_run_revision=asked.parent_run_revision,
        input=stored[item.input],
        launch_options=stored[item.launch_options],
        created_at=at,
        updated_at=at,
        available_at=at,
        queue_updated_at=at,
        head_at=at,
    )
    run.lease = Lease(run=run, project=project, workflow=definition.workflow, priority=asked.priority)
    run.lease.ready_at = rules.ready_at(run, run.lease)
    return run


def _queued(run: Run, at: datetime) -> Event:
    return journal.entered(run, "run.queued", Actor(ActorType.SESSION, run.origin_session_id), {}, at, generation=0)


def _only(outcomes: Sequence[Outcome]) -> Reserved:
    (outcome,) = outcomes
    if isinstance(outcome, errors.Refusal):
        raise outcome
    return outcome
