"""What has come due on a run by itself: an operator's wish, and that its runner was lost: its lease ran out, and nobody
has handed the run back. For transitions that hold the lock and meet such a run; the claim and the sweep do."""

from collections.abc import Sequence
from datetime import datetime

from runs import journal
from runs.models import Event, Project, Run
from runs.states import RUN_TERMINAL, ErrorCode, LostRunner, QueueStatus
from runs.transitions import blobs, crashes, ending, hold_back, mutex, wishes
from runs.verbs import FAIL

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
        if wishes.is_due(run.lease, at):
            wished.append(run)
            continue
        is_lost = crashes.count_loss(run, at)
        if is_lost and run.definition.lost_runner == LostRunner.FAIL:
            failed.append(run)
        elif is_lost and (run.definition.lost_runner == LostRunner.PARK or crashes.at_limit(run)):
            parked.append(run)
        else:
            free.append(run)
    events = wishes.carried_out(project, wished, now)
    events += hold_back.given_up(project, [_reason(run) for run in parked], now)
    events += _failed(project, failed, now)
    return free, events


def noticed(project: Project, runs: Sequence[Run], now: datetime) -> tuple[list[Run], list[Event]]:
    """The same for a hold that is no new try (for control, for validation): nothing is parked or failed by it."""
    due = [run for run in runs if wishes.is_due(run.lease, mutex.never_back(run, now))]
    for run in runs:
        if run not in due:
            crashes.count_loss(run, mutex.never_back(run, now))
    events = wishes.carried_out(project, due, now)
    return [run for run in runs if run.status not in RUN_TERMINAL], events


def _reason(run: Run) -> tuple[Run, ErrorCode, str]:
    if run.definition.lost_runner == LostRunner.PARK:
        return run, ErrorCode.RUNNER_LOST, LOST
    return run, ErrorCode.RUNNER_NO_PROGRESS, NO_PROGRESS.format(count=run.consecutive_errors)


def _failed(project: Project, runs: Sequence[Run], now: datetime) -> list[Event]:
    if not runs:
        return []
    text = blobs.text(LOST)
    message = blobs.stored(project, [text], now)[text]
    payload = {"status": QueueStatus.FAILED, "code": ErrorCode.RUNNER_LOST, "error": LOST}
    stops = [ending.Stop(run, FAIL, ErrorCode.RUNNER_LOST, message, journal.SYSTEM, payload) for run in runs]
    return ending.stop(project, stops, now)
