"""Renewals: the heartbeat of a lease. They make no event and touch nothing but the lease."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runs import clock, errors, rules
from runs.models import Lease, Project, Run
from runs.transitions import crashes, mutex, observing
from runs.transitions.mutex import Hold, transition
from runs.transitions.observing import Observation
from runs.verbs import RENEW

Renewal = Lease | errors.Refusal


@dataclass(frozen=True, slots=True)
class Beat(Hold):
    """A renewal that carries what the holder observes of its work."""

    observation: Observation | None = None


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
    wanted = sorted(filter(rules.is_run_id, {hold.run_id for hold in holds}))
    locked = Lease.objects.locked().filter(run__project=project, run__run_id__in=wanted).select_related("run")
    leases = {lease.run.run_id: lease for lease in locked}
    now = clock.now()

    # The hot path asks the lease alone; the run, which may be out of date here, only matters to explain a refusal.
    held: dict[str, Hold] = {}
    refused: dict[int, Hold] = {}
    for place, hold in enumerate(holds):
        lease = leases.get(hold.run_id)
        if lease is not None and hold.run_id not in held and rules.is_held(lease, hold.token, _never_back(lease, now)):
            held[hold.run_id] = hold
        else:
            refused[place] = hold
    reasons = _explained(leases, refused, held, now)

    renewed: dict[datetime, list[Lease]] = defaultdict(list)
    for run_id in held:
        renewed[_never_back(leases[run_id], now)].append(leases[run_id])
    # One time for all of them, unless the clock has fallen behind some.
    for at, of_that_time in renewed.items():
        _renewed(of_that_time, at, at + timedelta(milliseconds=lease_ms))
    observing.observed(_observations(leases, held.values()))
    return [reasons.get(place) or leases[hold.run_id] for place, hold in enumerate(holds)]


def _never_back(lease: Lease, now: datetime) -> datetime:
    """The time of a renewal: now, but not before the run's newest event or its last heartbeat."""
    return max(now, lease.run.head_at, lease.heartbeat_at or now)


def _renewed(leases: Sequence[Lease], at: datetime, expires_at: datetime) -> None:
    for lease in leases:
        lease.heartbeat_at, lease.expires_at = at, expires_at
        lease.takeover_at = crashes.takeover_at(expires_at, lease.backoff_ms)
    keys = [lease.pk for lease in leases]
    Lease.objects.filter(pk__in=keys).update(heartbeat_at=at, expires_at=expires_at, takeover_at=expires_at)
    mutex.write([lease for lease in leases if lease.backoff_ms], ["takeover_at"])


def _observations(leases: dict[str, Lease], holds: Iterable[Hold]) -> dict[int, tuple[Run, Observation, datetime]]:
    seen = {}
    for hold in holds:
        if isinstance(hold, Beat) and hold.observation is not None:
            lease = leases[hold.run_id]
            lease.run.lease = lease
            seen[lease.pk] = (lease.run, hold.observation, lease.heartbeat_at or lease.run.head_at)
    return seen


def _explained(
    leases: dict[str, Lease], refused: dict[int, Hold], held: dict[str, Hold], now: datetime
) -> dict[int, errors.Refusal]:
    if not refused:
        return {}
    runs = Run.objects.in_bulk([leases[hold.run_id].pk for hold in refused.values() if hold.run_id in leases])
    return {
        place: errors.DuplicateItem(run_id=hold.run_id)
        if hold.run_id in held
        else _reason(leases.get(hold.run_id), runs, hold, now)
        for place, hold in refused.items()
    }


def _reason(lease: Lease | None, runs: dict[int, Run], hold: Hold, now: datetime) -> errors.Refusal:
    if lease is None:
        return errors.RunNotFound(run_id=hold.run_id)
    try:
        rules.permit(RENEW, runs[lease.pk], lease, _never_back(lease, now), token=hold.token)
    except errors.Refusal as refusal:
        return refusal
    raise AssertionError("a lease that is held was not renewed")
