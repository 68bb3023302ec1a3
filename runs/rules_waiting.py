"""Why an unfinished run waits: one pure rule for every run that nobody works on at the moment. No database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from runs import rules, rules_crashes
from runs.rules import LeaseFacts, RunFacts
from runs.states import HELD_BACK_CODES, ErrorCode, QueueStatus, RunStatus

NOBODY_ASKS_AFTER = timedelta(minutes=3)


class WaitingRun(RunFacts, Protocol):
    """What the rule looks at in a run."""

    consecutive_errors: int


class WaitingLease(LeaseFacts, Protocol):
    """What the rule looks at in a lease."""

    ready_at: datetime | None


class WaitCode(StrEnum):
    """What a run waits for. The order is that of the rule: the first that applies is the answer."""

    WISH_DUE = "wish_due"  # an operator's wish has come due and is about to be carried out
    PAUSED = "paused"
    WAITING_FOR_PERSON = "waiting_for_person"
    HELD_BACK = "held_back"
    EFFECT_IN_DOUBT = "effect_in_doubt"
    BACKING_OFF = "backing_off"
    NOT_DUE = "not_due"
    NO_RUNNER_ASKS = "no_runner_asks"
    LEASE_EXPIRED = "lease_expired"
    OFFERED = "offered"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a run waits: a stable code, a sentence for people, and the facts behind it. Times are datetimes in UTC."""

    code: WaitCode
    sentence: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pause:
    """Who paused a run, when and why."""

    by_type: str
    by_id: str | None
    since: datetime
    reason: str | None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a reason tells of besides the run and its lease; each member matters to some codes only."""

    workflow_name: str
    asked_for_at: datetime | None
    pause: Pause | None = None
    sessions: Sequence[str] = ()  # whom pending requests are addressed to
    decision_ids: Sequence[str] = ()
    effect_ids: Sequence[str] = ()
    error_detail: str | None = None


def wait_code(run: RunFacts, lease: LeaseFacts, asked_for_at: datetime | None, at: datetime) -> WaitCode | None:
    """What this run waits for at `at`; None where somebody works on it, or it is over."""
    if rules.has_ended(run):
        return None
    if rules.is_live(lease, at) and not rules.is_overruled(lease, at):
        return None
    if lease.wish is not None:
        return WaitCode.WISH_DUE
    if run.paused:
        return WaitCode.PAUSED
    if (kept := _kept(run, lease)) is not None:
        return kept
    until = rules_crashes.rests_until(lease, at)
    if until is not None and until > at:
        return WaitCode.BACKING_OFF
    if run.available_at > at:
        return WaitCode.NOT_DUE
    if asked_for_at is None or asked_for_at <= at - NOBODY_ASKS_AFTER:
        return WaitCode.NO_RUNNER_ASKS
    return WaitCode.OFFERED if lease.owner_id is None else WaitCode.LEASE_EXPIRED


def _kept(run: RunFacts, lease: LeaseFacts) -> WaitCode | None:
    """What keeps the run from being handed out at any time."""
    if lease.pending_requests:
        return WaitCode.WAITING_FOR_PERSON
    if run.error_code in HELD_BACK_CODES:
        return WaitCode.HELD_BACK
    if (run.queue_status, run.status) != (QueueStatus.PARKED, RunStatus.WAITING):
        return None
    return WaitCode.EFFECT_IN_DOUBT if run.error_code == ErrorCode.EFFECT_AMBIGUOUS else WaitCode.WAITING_FOR_PERSON


def reason(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> Reason | None:
    """Why this run waits at `at`; None where somebody works on it, or it is over."""
    code = wait_code(run, lease, around.asked_for_at, at)
    return None if code is None else Reason(code, *_TOLD[code](run, lease, around, at))


_Told = tuple[str, dict[str, Any]]


def _wish_due(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    facts = {"wish": lease.wish, "due_at": lease.wish_due_at}
    return f"An operator's wish to {lease.wish} it has come due; the next claim or sweep carries it out.", facts


def _paused(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    pause = around.pause
    if pause is None:
        return "It is paused.", {}
    by = pause.by_id or f"the {pause.by_type}"
    why = f": {pause.reason}" if pause.reason else "."
    facts = {"actor_type": pause.by_type, "actor_id": pause.by_id, "since": pause.since, "reason": pause.reason}
    return f"Paused by {by} since {_time(pause.since)}{why}", facts


def _for_person(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    facts = {"sessions": list(around.sessions), "decision_ids": list(around.decision_ids)}
    if around.sessions:
        return f"It waits for an answer of the session {_some(around.sessions)}.", facts
    if around.decision_ids:
        return f"It waits for people to decide on {_some(around.decision_ids)}.", facts
    return "It is parked and waits, and nothing that it has asked is open: ask for it to be resumed.", facts


def _held_back(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    detail = f": {around.error_detail}" if around.error_detail else "."
    facts = {"error_code": run.error_code, "error_detail": around.error_detail}
    return f"Held back as {run.error_code} until an operator asks for it to be run again{detail}", facts


def _in_doubt(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    facts = {"effect_ids": list(around.effect_ids)}
    if not around.effect_ids:
        return "It was parked for an effect in doubt, which is settled: ask for it to be resumed.", facts
    return f"Nobody knows whether {_some(around.effect_ids)} has happened: an operator has to settle it.", facts


def _backing_off(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    until = rules_crashes.rests_until(lease, at)
    # An expired lease that nobody has met yet is a crash already.
    crashes = run.consecutive_errors + rules_crashes.is_crash(run, lease, at)
    sentence = f"It rests until {until and _time(until)} after losing {crashes} runners in a row."
    return sentence, {"until": until, "crashes": crashes}


def _not_due(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    return f"Not due before {_time(run.available_at)}.", {"until": run.available_at}


def _nobody_asks(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    facts = {"workflow_name": around.workflow_name, "asked_for_at": around.asked_for_at}
    since = f"since {_time(around.asked_for_at)}" if around.asked_for_at else "yet"
    return f"No runner has asked for runs of {around.workflow_name} {since}.", facts


def _lease_expired(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    facts = {"owner_id": lease.owner_id, "expired_at": lease.expires_at, "takeover_at": lease.takeover_at}
    expired = lease.expires_at and _time(lease.expires_at)
    return f"Its runner {lease.owner_id} was lost at {expired}; the next one that asks meets it.", facts


def _offered(run: WaitingRun, lease: WaitingLease, around: Surroundings, at: datetime) -> _Told:
    return "It is offered to the next runner that asks and has room.", {"since": lease.ready_at}


_TOLD = {
    WaitCode.WISH_DUE: _wish_due,
    WaitCode.PAUSED: _paused,
    WaitCode.WAITING_FOR_PERSON: _for_person,
    WaitCode.HELD_BACK: _held_back,
    WaitCode.EFFECT_IN_DOUBT: _in_doubt,
    WaitCode.BACKING_OFF: _backing_off,
    WaitCode.NOT_DUE: _not_due,
    WaitCode.NO_RUNNER_ASKS: _nobody_asks,
    WaitCode.LEASE_EXPIRED: _lease_expired,
    WaitCode.OFFERED: _offered,
}


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
