"""Renewals: the heartbeat of a lease. They make no event and touch nothing but the lease."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from runs import clock, errors, rules
from runs.models import Lease, Project, Run
from runs.states import RENEW
from runs.transitions import crashes, mutex
from runs.transitions.mutex import Hold, transition

Renewal = Lease | errors.Refusal


def renew(project: Project, hold: Hold, lease_ms: int) -> Lease:
    """Move the expiry of this held lease to `lease_ms` from now, which may also be sooner than before."""
    (renewal,) = renew_all(project, [hold], lease_ms)
    if isinstance(renewal, errors.Refusal):
        raise renewal
    return renewal


@transition
def renew_all(project: Project, holds: Sequence[Hold], lease_ms: int) -> list[Renewal]:
    """The same for many leases at once, with an outcome for each in the order asked."""
    mutex.check_batch(holds)
    wanted = {hold.run_id for hold in holds}
    locked = Lease.objects.locked().filter(run__project=project, run__run_id__in=wanted).select_related("run")
    leases = {lease.run.run_id: lease for lease in locked}
    now = clock.now()

    # The hot path asks the lease alone; the run, which may be out of date here, only matters to explain a refusal.
    held = {
        hold: leases[hold.run_id]
        for hold in holds
        if hold.run_id in leases and rules.is_held(leases[hold.run_id], hold.token, now)
    }
    refused = _explained(leases, [hold for hold in holds if hold not in held], now)

    expires_at = now + timedelta(milliseconds=lease_ms)
    for lease in held.values():
        lease.heartbeat_at, lease.expires_at = now, expires_at
        lease.takeover_at = crashes.takeover_at(expires_at, lease.backoff_ms)
    if held:
        keys = [lease.pk for lease in held.values()]
        Lease.objects.filter(pk__in=keys).update(heartbeat_at=now, expires_at=expires_at, takeover_at=expires_at)
        mutex.write([lease for lease in held.values() if lease.backoff_ms], ["takeover_at"])
    return [held.get(hold) or refused[hold] for hold in holds]


def _explained(leases: dict[str, Lease], holds: Sequence[Hold], now: datetime) -> dict[Hold, errors.Refusal]:
    if not holds:
        return {}
    runs = Run.objects.in_bulk([leases[hold.run_id].pk for hold in holds if hold.run_id in leases])
    return {hold: _reason(leases.get(hold.run_id), runs, hold, now) for hold in holds}


def _reason(lease: Lease | None, runs: dict[int, Run], hold: Hold, now: datetime) -> errors.Refusal:
    if lease is None:
        return errors.RunNotFound(run_id=hold.run_id)
    try:
        rules.permit(RENEW, runs[lease.pk], lease, now, token=hold.token)
    except errors.Refusal as refusal:
        return refusal
    raise AssertionError("a lease that is held was not renewed")
