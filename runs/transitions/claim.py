"""Claims: by id, and of whatever comes next."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runs import clock, errors, journal, rules
from runs.models import Lease, Project, Run
from runs.models.offered import claimable
from runs.states import CLAIM, CLAIM_FOR_CONTROL, CLAIM_FOR_VALIDATION, Verb
from runs.transitions import mutex
from runs.transitions.mutex import BATCH_LIMIT, transition

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims, for how long, and whether it takes its own live runs again (with a new generation)."""

    owner_id: str
    lease_ms: int
    reclaim: bool = False


def claim(project: Project, run_id: str, claimant: Claimant, token: str) -> Run:
    """Take this run. Refuses over a live lease, a pause, a pending request and an end; a run not yet due is taken."""
    return _claimed(project, run_id, claimant, token, CLAIM)


def claim_for_validation(project: Project, run_id: str, claimant: Claimant, token: str) -> Run:
    """Take this run to validate a submission to its pending request. Takes paused runs, too."""
    return _claimed(project, run_id, claimant, token, CLAIM_FOR_VALIDATION)


def claim_for_control(project: Project, run_id: str, claimant: Claimant, token: str) -> Run:
    """Take this run without scheduling it: its queue status and error stay as they are."""
    return _claimed(project, run_id, claimant, token, CLAIM_FOR_CONTROL)


@transition
def _claimed(project: Project, run_id: str, claimant: Claimant, token: str, verb: Verb) -> Run:
    run = mutex.lock_one(project, run_id)
    now = clock.now()

    _permit(verb, run, claimant, now)

    _take([(run, token)], claimant, now, verb)
    return run


@transition
def claim_next(
    project: Project,
    claimant: Claimant,
    tokens: Sequence[str],
    *,
    workflows: Collection[str] | None = None,
    exclude: Collection[str] = (),
) -> list[Run]:
    """Take up to as many runs as there are tokens, first come first: run n of the answer is held by token n.

    Of the named workflows (all, where None), by priority, then by the time since when they may be handed out.
    """
    if not 0 < len(tokens) <= BATCH_LIMIT:
        raise errors.BatchTooLarge(limit=BATCH_LIMIT)
    taken: list[Run] = []
    passed: set[int] = set()
    for _ in range(ROUNDS):
        now = clock.now()
        wanted = len(tokens) - len(taken)
        # More than wanted, since others may be taking the first ones at this moment.
        found = claimable(
            project,
            now,
            2 * wanted + 8,
            workflows,
            exclude,
            passed,
            owner_id=claimant.owner_id if claimant.reclaim else None,
        )
        leases = list(Lease.objects.filter(pk__in=found).in_claim_order().taken_first()[:wanted]) if found else []
        now = clock.now()

        allowed = [run for run in mutex.under(leases) if _still_offered(run, claimant, now)]
        taken += allowed
        passed.update(lease.pk for lease in leases)
        if len(taken) == len(tokens) or len(found) < 2 * wanted + 8:
            break

    _take(list(zip(taken, tokens, strict=False)), claimant, now, CLAIM)
    return taken


def _permit(verb: Verb, run: Run, claimant: Claimant, now: datetime) -> None:
    at = mutex.never_back(run, now)
    rules.permit(verb, run, run.lease, at, owner_id=claimant.owner_id, reclaim=claimant.reclaim)


def _still_offered(run: Run, claimant: Claimant, now: datetime) -> bool:
    """Whether what was found without a lock holds under it."""
    try:
        _permit(CLAIM, run, claimant, now)
    except errors.Refusal:
        return False
    ready_at = rules.ready_at(run, run.lease)
    return ready_at is not None and ready_at <= mutex.never_back(run, now)


def _take(pairs: Sequence[tuple[Run, str]], claimant: Claimant, now: datetime, verb: Verb) -> None:
    owner_type = rules.owner_type(rules.owner(claimant.owner_id))
    events = []
    for run, token in pairs:
        at, lease = mutex.never_back(run, now), run.lease
        lease.generation += 1
        lease.owner_type, lease.owner_id = owner_type, claimant.owner_id
        lease.token_hash = rules.token_hash(token)
        lease.acquired_at = lease.heartbeat_at = at
        lease.expires_at = at + timedelta(milliseconds=claimant.lease_ms)
        if verb.ends_queue is not None:
            run.queue_status, run.queue_updated_at = verb.ends_queue, at
            run.error_code = run.queue_error = None
        lease.ready_at = rules.ready_at(run, run.lease)
        payload = {"expiresAt": clock.to_ms(lease.expires_at)}
        events.append(
            journal.entered(run, "lease.claimed", journal.owner_of(lease), payload, at, generation=lease.generation)
        )
    runs = [run for run, _ in pairs]
    mutex.write([run.lease for run in runs], _LEASE_FIELDS)
    mutex.write(runs, _RUN_FIELDS)
    journal.write(events)


_LEASE_FIELDS = (
    "generation",
    "owner_type",
    "owner_id",
    "token_hash",
    "acquired_at",
    "heartbeat_at",
    "expires_at",
    "ready_at",
)
_RUN_FIELDS = ("queue_status", "queue_updated_at", "error_code", "queue_error", *journal.HEAD_FIELDS)
