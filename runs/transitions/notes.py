"""Events of a caller's own type on a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs import clock, journal, rules
from runs.journal import Actor
from runs.models import Event, Project
from runs.transitions import blobs, mutex
from runs.transitions.mutex import transition
from runs.verbs import RECORD_EVENT

PAYLOAD_LIMIT = 65_536  # bytes of canonical JSON


@dataclass(frozen=True, slots=True)
class Note:
    """What is recorded. With a token it is the holder's; without, a writer's, on runs that are over too."""

    run_id: str
    type: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    token: str | None = None


@transition
def record_event(project: Project, note: Note, by: Actor) -> Event:
    """Record one event. With a token, refuses whoever does not hold the run, and the owner is who did it."""
    run = mutex.lock_one(project, note.run_id)
    at, actor = mutex.never_back(run, clock.now()), by
    rules.note_type(note.type)

    if note.token is not None:
        rules.permit(RECORD_EVENT, run, run.lease, at, token=note.token)
        actor = journal.owner_of(run.lease)

    blobs.encoded(note.payload, PAYLOAD_LIMIT)

    event = journal.entered(run, note.type, actor, note.payload, at, generation=run.lease.generation)
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write([event])
    return event
