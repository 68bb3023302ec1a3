"""What the model's verbs need before they do anything, each with the code of its refusal. Their order is the verb's."""

from runs.states import QueueStatus, RunStatus, Wish
from tests.model.model import Refused, Run


def held(run: Run, token: str | None, now: int) -> None:
    """The caller holds the run: live, with the owner's token, and no wish has come due over it."""
    lease = run.lease
    if token is None or token != lease.token or not lease.is_live(now) or lease.is_overruled(now):
        raise _lost(run, token, now)


def _lost(run: Run, token: str | None, now: int) -> Refused:
    if run.is_over:
        return _over(run)
    lease = run.lease
    wish = lease.intent.wish if lease.intent and lease.has_intent_due(now) else None
    if run.paused or wish == Wish.PAUSE:
        return Refused("run_paused")
    if wish == Wish.CANCEL:
        return Refused("run_cancelled")
    last_owner = lease.token or lease.swept_token
    if last_owner is None:
        return Refused("lease_lost", "released")
    return Refused("lease_lost", "expired" if token == last_owner else "superseded")


def _over(run: Run) -> Refused:
    return Refused("run_cancelled" if run.status == RunStatus.CANCELLED else "run_finished")


def unfinished(run: Run) -> None:
    if run.is_over:
        raise _over(run)


def running(run: Run) -> None:
    unfinished(run)
    if run.status != RunStatus.RUNNING:
        raise Refused("not_running")


def begun(run: Run) -> None:
    unfinished(run)
    if run.status == RunStatus.QUEUED:
        raise Refused("not_running")


def begun_and_parked(run: Run) -> None:
    unfinished(run)
    if run.status == RunStatus.QUEUED or run.queue_status != QueueStatus.PARKED:
        raise Refused("not_parked_and_waiting")


def unbegun_and_unowned(run: Run) -> None:
    """Nobody has begun the run, and nobody is on record as its owner, not even an expired one."""
    unfinished(run)
    if run.queue_status not in (QueueStatus.QUEUED, QueueStatus.STARTING):
        raise Refused("run_begun")
    if run.lease.owner_id is not None:
        raise Refused("lease_held")


def unpaused(run: Run) -> None:
    if run.paused:
        raise Refused("run_paused")


def paused(run: Run) -> None:
    if not run.paused:
        raise Refused("not_paused")


def unasked(run: Run) -> None:
    if run.is_asked:
        raise Refused("request_pending")


def asked(run: Run) -> None:
    if not run.is_asked:
        raise Refused("no_pending_request")


def live(run: Run, now: int) -> None:
    if not run.lease.is_live(now):
        raise Refused("not_held")


def not_live(run: Run, now: int, reclaimed_by: str | None = None) -> None:
    """Nobody holds the run, unless it is the one who reclaims."""
    if run.lease.is_live(now) and (reclaimed_by is None or run.lease.owner_id != reclaimed_by):
        raise Refused("lease_held")


def rested(run: Run, now: int) -> None:
    until = run.lease.rests_until(now)
    if until is not None and until > now:
        raise Refused("backing_off")
