"""Pausing an unfinished run at once, whoever holds it, and letting it go on."""

from collections.abc import Sequence

from runs import clock, errors, journal, rules
from runs.journal import Actor
from runs.models import Project, Run
from runs.states import QueueStatus
from runs.transitions import lost, mutex, standstill
from runs.transitions.mutex import Hold, Outcome, transition
from runs.verbs import PAUSE, UNPAUSE


def pause(project: Project, run_id: str, by: Actor, reason: str | None = None) -> Run:
    """Pause an unfinished run at once: its holder is fenced, its place in the queue kept. A paused one stays so."""
    return mutex.only(pause_all(project, [run_id], by, reason))


@transition
def pause_all(project: Project, run_ids: Sequence[str], by: Actor, reason: str | None = None) -> list[Outcome]:
    """The same for many runs at once.

    What has come due on a run by itself is carried out first, so that a pause finds it as a sweep would have left it.
    """
    runs = mutex.lock(project, run_ids)
    now = clock.now()

    decided = mutex.decide(
        [Hold(run_id) for run_id in run_ids],
        runs,
        lambda run, _: rules.permit(PAUSE, run, run.lease, mutex.never_back(run, now)),
    )

    _, events = lost.settled(project, decided.runs, now)
    pausing = [run for run in decided.runs if not run.paused and not run.is_over]
    events += standstill.paused([(run, by, reason) for run in pausing], now)

    journal.write(events)
    return [_told(outcome) for outcome in decided.outcomes]


def _told(outcome: Outcome) -> Outcome:
    """The refusal of a run that was ended by what had come due on it; any other outcome as it is."""
    if isinstance(outcome, errors.Refusal) or not outcome.is_over:
        return outcome
    return rules.over(outcome) or outcome


def unpause(project: Project, run_id: str, by: Actor, reason: str | None = None) -> Run:
    """Let a paused run go on from where it stood in the queue. Refuses a run that is not paused."""
    return mutex.only(unpause_all(project, [run_id], by, reason))


@transition
def unpause_all(project: Project, run_ids: Sequence[str], by: Actor, reason: str | None = None) -> list[Outcome]:
    """The same for many runs at once."""
    runs = mutex.lock(project, run_ids)
    now = clock.now()

    decided = mutex.decide(
        [Hold(run_id) for run_id in run_ids],
        runs,
        lambda run, _: rules.permit(UNPAUSE, run, run.lease, mutex.never_back(run, now)),
    )

    events = []
    for run in decided.runs:
        at = mutex.never_back(run, now)
        if run.parked_by_pause:
            run.queue_status, run.queue_updated_at = QueueStatus.QUEUED, at
        run.paused, run.parked_by_pause, run.status_detail, run.updated_at = False, False, None, at
        run.lease.ready_at = rules.ready_at(run, run.lease)
        events.append(journal.entered(run, "run.resumed", by, standstill.facts(run, reason), at, generation=0))
    mutex.write([run.lease for run in decided.runs], ["ready_at"])
    mutex.write(decided.runs, standstill.RUN_FIELDS)

    journal.write(events)
    return decided.outcomes
