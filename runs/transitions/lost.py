"""What it means that a runner was lost: its lease ran out, and nobody has handed the run back."""

from collections.abc import Sequence
from datetime import datetime

from runs import journal, rules
from runs.models import Event, Project, Run
from runs.states import FAIL, ErrorCode, LostRunner, QueueStatus
from runs.transitions import blobs, crashes, ending, hold_back, mutex, wishes

NO_PROGRESS = "Its runners were lost {count} times in a row without any progress."
LOST = "Its runner was lost, and its definition says not to hand it out again."


def settled(project: Project, runs: Sequence[Run], now: datetime) -> tuple[list[Run], list[Event]]:
    """Those of these locked runs that may be handed out, and the events of the others, which are stored.

    An operator's due wish is carried out; a crash is counted; at the limit, or where the definition says so, a run is
    parked or failed instead of handed out.
    """
    wished, parked, failed, free = [], [], [], []
    for run in runs:
        at = mutex.never_back(run, now)
        expired = run.lease.owner_id is not None and not rules.is_live(run.lease, at)
        if expired:
            crashes.count_expiry(run)
        if wishes.is_due(run.lease, at):
            wished.append(run)
        elif expired and run.definition.lost_runner == LostRunner.FAIL:
            failed.append(run)
        elif expired and (run.definition.lost_runner == LostRunner.PARK or crashes.at_limit(run)):
            parked.append(run)
        else:
            free.append(run)
    events = wishes.carried_out(project, wished, now)
    events += _parked(project, parked, now)
    events += _failed(project, failed, now)
    return free, events


def _parked(project: Project, runs: Sequence[Run], now: datetime) -> list[Event]:
    events = []
    for run in runs:
        is_policy = run.definition.lost_runner == LostRunner.PARK
        code = ErrorCode.RUNNER_LOST if is_policy else ErrorCode.RUNNER_NO_PROGRESS
        detail = LOST if is_policy else NO_PROGRESS.format(count=run.consecutive_errors)
        events.append(hold_back.given_up(project, run, code, detail, now))
    return events


def _failed(project: Project, runs: Sequence[Run], now: datetime) -> list[Event]:
    if not runs:
        return []
    text = blobs.text(LOST)
    message = blobs.stored(project, [text], now)[text]
    payload = {"status": QueueStatus.FAILED, "code": ErrorCode.RUNNER_LOST, "error": LOST}
    stops = [ending.Stop(run, FAIL, ErrorCode.RUNNER_LOST, message, journal.SYSTEM, payload) for run in runs]
    return ending.stop(project, stops, now)
