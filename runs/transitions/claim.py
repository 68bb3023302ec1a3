"""Claims: by id, and of whatever comes next."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runs import clock, errors, journal, rules, rules_crashes
from runs.models import Event, Lease, Owner, Project, Run
from runs.models.offered import claimable, still_claimable
from runs.transitions import crashes, lost, mutex, texts, wishes
from runs.transitions.mutex import BATCH_LIMIT, transition
from runs.verbs import CLAIM, CLAIM_FOR_CONTROL, CLAIM_FOR_VALIDATION, Verb

LOOKED_AT = 500  # runs that one claim passes over at most


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims, and for how long. `reclaim` takes one's own live runs again, with a new generation.

    Without `count_crashes` an expired lease is taken over as if nothing had happened; for replays.
    """

    owner_id: str
    lease_ms: int
    reclaim: bool = False
    count_crashes: bool = True


def claim(project: Project, run_id: str, claimant: Claimant, token: str) -> Run:
    """Take this run. Refuses over a live lease, a pause, a pending request and an end; a run not yet due is taken."""
    return _claimed(project, run_id, claimant, token, CLAIM)


def claim_for_validation(project: Project, run_id: str, claimant: Claimant, token: str) -> Run:
    """Take this run to validate a submission to its pending request. Takes paused runs, too."""
    return _claimed(project, run_id, claimant, token, CLAIM_FOR_VALIDATION)


def claim_for_control(project: Project, run_id: str, claimant: Claimant, token: str) -> Run:
    """Take this run without scheduling it: its queue status and error stay as they are."""
    return _claimed(project, run_id, claimant, token, CLAIM_FOR_CONTROL)


def _claimed(project: Project, run_id: str, claimant: Claimant, token: str, verb: Verb) -> Run:
    run, is_taken = _claim_one(project, run_id, claimant, token, verb)
    if not is_taken:
        # Instead of being handed out it was parked, paused or ended; that stands, so the refusal comes after it.
        rules.permit(verb, run, run.lease, run.head_at)
        raise errors.HeldBack(run_id=run_id, error_code=run.error_code)
    return run


@transition
def _claim_one(project: Project, run_id: str, claimant: Claimant, token: str, verb: Verb) -> tuple[Run, bool]:
    run = mutex.lock_one(project, run_id)
    now = clock.now()

    _permit(verb, run, claimant, now)

    free, events = _free(project, [run], claimant, now, verb)
    journal.write(events)
    _take([(run, token) for run in free], claimant, now, verb)
    return run, bool(free)


@transition
def claim_next(
    project: Project,
    claimant: Claimant,
    tokens: Sequence[str],
    *,
    workflows: Collection[str] | None = None,
    exclude: Collection[str] = (),
    once: bool = False,
) -> list[Run]:
    """Take up to as many runs as there are tokens, first come first: run n of the answer is held by token n.

    Of the named workflows (all, where None), by priority, then by the time since when they may be handed out. With
    `once`, refuses tokens that hold a live lease already: the same claim, sent twice, takes once.
    """
    if not 0 < len(tokens) <= BATCH_LIMIT:
        raise errors.BatchTooLarge(limit=BATCH_LIMIT)
    for name in workflows or ():
        texts.check(name)
    exclude = list(filter(rules.is_run_id, exclude))
    taken: list[Run] = []
    events: list[Event] = []
    passed: set[int] = set()
    now = clock.now()
    # Each round passes over what it has seen; most claims need one.
    while len(taken) < len(tokens) and len(passed) < LOOKED_AT:
        wanted = len(tokens) - len(taken)
        owner_id = claimant.owner_id if claimant.reclaim else None
        # More than wanted, since others may be taking the first ones at this moment.
        found = claimable(project, now, 2 * wanted + 8, workflows, exclude, passed, owner_id=owner_id)
        if not found:
            break
        if once and not passed:
            _take_turns(project, claimant, tokens, now)
        leases = list(still_claimable(found, now, owner_id=owner_id).in_claim_order().taken_first()[:wanted])
        now = clock.now()
        offered = [run for run in mutex.under(leases) if _still_offered(run, claimant, now)]
        free, more = _free(project, offered, claimant, now, CLAIM)
        taken += free
        events += more
        # Where there were fewer than wanted, the others of those found are somebody else's by now.
        passed.update([lease.pk for lease in leases] if len(leases) == wanted else found)

    journal.write(events)
    _take(list(zip(taken, tokens, strict=False)), claimant, now, CLAIM)
    return taken


def _take_turns(project: Project, claimant: Claimant, tokens: Sequence[str], now: datetime) -> None:
    """Claims of one owner come one after the other, so that the second of two equal ones sees what the first took.

    A claim that finds nothing locks nothing.
    """
    list(Owner.objects.select_for_update(no_key=True).filter(project=project, owner_id=claimant.owner_id))
    hashes = [rules.token_hash(token) for token in tokens]
    if Lease.objects.filter(token_hash__in=hashes, project=project, expires_at__gt=now).exists():
        raise errors.TokenInUse(owner_id=claimant.owner_id)


def _free(
    project: Project, runs: Sequence[Run], claimant: Claimant, now: datetime, verb: Verb
) -> tuple[list[Run], list[Event]]:
    """Those of these runs that may be handed out; what becomes of the others is stored."""
    if not claimant.count_crashes:
        return list(runs), []
    return (lost.settled if verb == CLAIM else lost.noticed)(project, runs, now)


def _permit(verb: Verb, run: Run, claimant: Claimant, now: datetime) -> None:
    at = mutex.never_back(run, now)
    if wishes.is_due(run.lease, at):
        return  # That comes first; the claim is judged by what becomes of the run.
    rules.permit(verb, run, run.lease, at, owner_id=claimant.owner_id, reclaim=claimant.reclaim)
    if verb == CLAIM and claimant.count_crashes:
        rules_crashes.rested(run, run.lease, at)


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
        rests_until = None if verb == CLAIM else rules_crashes.rests_until(lease, at)
        lease.generation += 1
        lease.owner_type, lease.owner_id = owner_type, claimant.owner_id
        lease.token_hash, lease.swept_token_hash = rules.token_hash(token), None
        lease.acquired_at = lease.heartbeat_at = at
        lease.expires_at = at + timedelta(milliseconds=claimant.lease_ms)
        if verb.ends_queue is not None:
            run.queue_status, run.queue_updated_at = verb.ends_queue, at
            run.error_code = run.queue_error = None
        crashes.begin_generation(run, verb, rests_until, lease.expires_at)
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
    "swept_token_hash",
    "acquired_at",
    "heartbeat_at",
    "expires_at",
    "ready_at",
    *crashes.LEASE_FIELDS,
)
_RUN_FIELDS = (
    "queue_status",
    "queue_updated_at",
    "error_code",
    "queue_error",
    *crashes.RUN_FIELDS,
    *journal.HEAD_FIELDS,
)
