"""Effects of the outbox as such."""

from runs import clock, journal
from runs.models import Project
from runs.transitions import derived, mutex, outbox
from runs.transitions.mutex import transition


@transition
def settle_effect(project: Project, run_id: str, effect_type: str) -> int:
    """Apply a run's pending effects of this type; how many there were. For effects of the queue's own bookkeeping."""
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    effects = outbox.pending_of_type([run], effect_type)
    events = outbox.applied(run, effects.get(run.pk, ()), at)
    outbox.write(effects)
    if events:
        derived.refresh([run])
        mutex.write([run.lease], derived.DERIVED_FIELDS)
        # Not the revision: the run itself did not move.
        mutex.write([run], ["head_digest", "head_at"])

    journal.write(events)
    return len(events)
