"""The model's claims, renewals and sweeps: who is handed a run, and what they meet on it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from runs.states import ErrorCode, LostRunner, QueueStatus
from tests.model import decisions, ending, guards
from tests.model.model import Lease, Queue, Refused, Run

CRASH_LIMIT = 5
BACKOFF_MS, BACKOFF_CAP_MS = 5_000, 300_000


@dataclass
class Claimant:
    """Who claims, for how long, and whether also what is its own."""

    owner_id: str
    lease_ms: int
    reclaims: bool = False


def claim(queue: Queue, run_id: str, claimant: Claimant, token: str) -> None:
    run = queue.find(run_id)
    if not run.lease.has_intent_due(queue.now):
        _may_be_handed_out(run, claimant, queue.now)
        guards.rested(run, queue.now)
    if not met(queue, run):
        _may_be_handed_out(run, claimant, queue.now)
        raise Refused("held_back")
    _take(queue, run, claimant, token)
    run.queue_status, run.error_code, run.lease.retry_at = QueueStatus.STARTING, None, None


def claim_for_validation(queue: Queue, run_id: str, claimant: Claimant, token: str) -> None:
    run, rests_until = _noticed(queue, run_id, claimant)
    _take(queue, run, claimant, token)
    run.queue_status, run.error_code, run.lease.retry_at = QueueStatus.STARTING, None, rests_until


def claim_for_control(queue: Queue, run_id: str, claimant: Claimant, token: str) -> None:
    run, rests_until = _noticed(queue, run_id, claimant)
    _take(queue, run, claimant, token, is_a_try=False)
    run.lease.retry_at = rests_until


def claim_next(
    queue: Queue, claimant: Claimant, tokens: Sequence[str], workflows: Collection[str], exclude: Collection[str]
) -> list[str]:
    """The runs that were taken, first come first."""
    now, taken = queue.now, list[str]()
    offered = [run for run in queue.in_order() if _is_offered(run, claimant, now)]
    for run in sorted(offered, key=lambda run: (run.order.priority, _offered_since(run))):
        if len(taken) == len(tokens) or run.order.workflow not in workflows or run.run_id in exclude:
            continue
        if met(queue, run):
            _take(queue, run, claimant, tokens[len(taken)])
            run.queue_status, run.error_code, run.lease.retry_at = QueueStatus.STARTING, None, None
            taken.append(run.run_id)
    return taken


def _is_offered(run: Run, claimant: Claimant, now: int) -> bool:
    lease, ready_at = run.lease, run.ready_at
    if ready_at is None or ready_at > now:
        return False
    if claimant.reclaims and lease.owner_id == claimant.owner_id:
        return lease.has_intent_due(now) or (lease.rests_until(now) or now) <= now
    return lease.takeover_at is None or lease.takeover_at <= now


def _offered_since(run: Run) -> int:
    """Who crashed waits behind those who came while it rested."""
    ready_at, lease = run.ready_at or 0, run.lease
    return max(ready_at, lease.takeover_at or 0) if lease.backoff_ms else ready_at


def _may_be_handed_out(run: Run, claimant: Claimant, now: int) -> None:
    guards.unfinished(run)
    guards.unpaused(run)
    guards.unasked(run)
    guards.not_live(run, now, claimant.owner_id if claimant.reclaims else None)


def met(queue: Queue, run: Run) -> bool:
    """Whether the run is free, after all that had come due on it: a wish, or the loss of its runner."""
    if run.lease.has_intent_due(queue.now):
        ending.carry_out(queue, run)
        return False
    if not ending.count_loss(run, queue.now):
        return True
    if run.lost_runner == LostRunner.FAIL:
        ending.fail(run, ErrorCode.RUNNER_LOST)
    elif run.lost_runner == LostRunner.PARK:
        _give_up(queue, run, ErrorCode.RUNNER_LOST)
    elif run.crashes >= CRASH_LIMIT:
        _give_up(queue, run, ErrorCode.RUNNER_NO_PROGRESS)
    else:
        return True
    return False


def _give_up(queue: Queue, run: Run, code: ErrorCode) -> None:
    run.queue_status, run.error_code, run.available_at = QueueStatus.PARKED, code, queue.now
    run.lease.release()
    run.lease.retry_at = None
    run.revision += 1


def _noticed(queue: Queue, run_id: str, claimant: Claimant) -> tuple[Run, int | None]:
    """The run, for a hold that is no new try: what it meets is counted, and a rest goes on."""
    run, lease = queue.find(run_id), queue.find(run_id).lease
    if not lease.has_intent_due(queue.now):
        guards.unfinished(run)
        guards.not_live(run, queue.now, claimant.owner_id if claimant.reclaims else None)
        ending.count_loss(run, queue.now)
    else:
        ending.carry_out(queue, run)
        guards.unfinished(run)
    return run, lease.rests_until(queue.now)


def _take(queue: Queue, run: Run, claimant: Claimant, token: str, *, is_a_try: bool = True) -> None:
    run.lease = Lease(
        run.lease.generation + 1,
        claimant.owner_id,
        token,
        queue.now + claimant.lease_ms,
        progressed=not is_a_try,
        backoff_ms=_backoff_ms(queue, run) if is_a_try else 0,
        intent=run.lease.intent,
    )
    run.revision += 1


def _backoff_ms(queue: Queue, run: Run) -> int:
    """How long the run is going to rest, should this holder crash, too: not after the first, nor after the last."""
    crash = run.crashes + 1
    if not 2 <= crash < CRASH_LIMIT:
        return 0
    rule, chosen = min(BACKOFF_CAP_MS, BACKOFF_MS * 2 ** (crash - 2)), queue.spread(run.run_id)
    assert 0.75 * rule <= chosen <= 1.25 * rule, f"crash {crash} costs {rule} ms, give or take a quarter, not {chosen}"
    return chosen


def renew(queue: Queue, run_id: str, token: str, lease_ms: int) -> None:
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    run.lease.expires_at = queue.now + lease_ms


def sweep(queue: Queue) -> tuple[int, int, int]:
    """How many leases were released, runs settled instead, and decisions resolved."""
    now, released, settled = queue.now, 0, 0
    for run in queue.in_order():
        if run.lease.is_overruled(now):
            ending.carry_out(queue, run)
            settled += 1
    for run in queue.in_order():
        if not run.lease.has_expired(now):
            continue
        if met(queue, run):
            _release_expired(run, now)
            released += 1
        else:
            settled += 1
    return released, settled, decisions.expire_all(queue)


def _release_expired(run: Run, now: int) -> None:
    lease = run.lease
    token, lease.retry_at = lease.token, lease.rests_until(now)
    lease.release()
    lease.swept_token = token
    run.revision += 1
