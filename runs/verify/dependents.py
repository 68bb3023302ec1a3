"""The proofs about what hangs on runs. Each is one statement that finds only what breaks the rule."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, Max, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from runs.models import (
    ActiveInterval,
    Effect,
    HumanDecision,
    InteractiveRequest,
    InteractiveSubmission,
    NodeAttempt,
    Run,
    WorkflowMessage,
    WorkflowTurn,
)
from runs.states import (
    ATTEMPT_OPEN,
    RUN_SCOPE,
    RUN_TERMINAL,
    AttemptStatus,
    EffectStatus,
    MessageKind,
    MessageStatus,
    RequestStatus,
    SubmissionOutcome,
)
from runs.verify.violation import Violation

SHOWN = 100  # of one rule in one batch


@dataclass(frozen=True, slots=True)
class _Rule:
    """Rows that break a rule, the way from them to their run, and what to say of each by its id."""

    name: str
    broken: Callable[[], QuerySet[Any]]
    run: str
    id: str
    says: str


def dependents(runs: Sequence[Run]) -> Iterator[Violation]:
    """What is wrong with the attempts, effects, requests, decisions, messages and turns of these runs."""
    by_key = {run.pk: run for run in runs}
    over = [run.pk for run in runs if run.status in RUN_TERMINAL]
    for rules, keys in ((_ALWAYS, list(by_key)), (_WHEN_OVER, over)):
        for rule in rules if keys else ():
            rows = rule.broken().filter(**{f"{rule.run}__in": keys}).order_by(rule.run)
            for key, name in rows.values_list(rule.run, rule.id)[:SHOWN]:
                yield Violation.of(by_key[key], rule.name, rule.says.format(name))


_OPEN = sorted(ATTEMPT_OPEN)
# An interrupted one may have a time: when it was interrupted.
_UNDER_WORK = sorted(ATTEMPT_OPEN - {AttemptStatus.INTERRUPTED})
_CANCELLED_AT_THE_END = [MessageKind.STEP, MessageKind.DECISION]
_TRIES = Coalesce(Count("attempts"), Value(0))
_OPEN_TRIES = Count("attempts", filter=Q(attempts__finished_at=None))
_OPEN_TRIES_WANTED = Case(When(status=EffectStatus.APPLYING, then=Value(1)), default=Value(0))

_ALWAYS = (
    _Rule(
        "winner",
        lambda: (
            NodeAttempt.objects.filter(status=AttemptStatus.COMPLETED)
            .values("run_id", "node_id")
            .annotate(completed=Count("pk"))
            .filter(completed__gt=1)
        ),
        "run_id",
        "node_id",
        "the node {} has several completed attempts",
    ),
    _Rule(
        "attempt",
        lambda: NodeAttempt.objects.filter(generation__gt=F("run__lease__generation")),
        "run_id",
        "attempt_id",
        "the attempt {} is of a generation that the lease never had",
    ),
    _Rule(
        "attempt",
        lambda: NodeAttempt.objects.filter(
            Q(status__in=_UNDER_WORK, finished_at__isnull=False) | (~Q(status__in=_OPEN) & Q(finished_at=None))
        ),
        "run_id",
        "attempt_id",
        "the attempt {} is over without a time, or open with one",
    ),
    _Rule(
        "interval",
        lambda: NodeAttempt.objects.annotate(open_ones=Count("intervals", filter=Q(intervals__ended_at=None))).filter(
            Q(open_ones__gt=1) | (Q(open_ones=1) & ~Q(status__in=_OPEN))
        ),
        "run_id",
        "attempt_id",
        "the attempt {} has several open intervals, or one though it is over",
    ),
    _Rule(
        "effect",
        lambda: Effect.objects.annotate(tries=_TRIES, newest=Coalesce(Max("attempts__number"), Value(0))).exclude(
            tries=F("attempt_count"), newest=F("attempt_count")
        ),
        "run_id",
        "effect_id",
        "the tries of the effect {} are not numbered from 1 to its count",
    ),
    _Rule(
        "effect",
        lambda: Effect.objects.annotate(open_tries=_OPEN_TRIES).exclude(open_tries=_OPEN_TRIES_WANTED),
        "run_id",
        "effect_id",
        "the effect {} is applying without an open try, or has one otherwise",
    ),
    _Rule(
        "decision",
        lambda: HumanDecision.objects.filter(
            Q(resolution=None, resolved_at__isnull=False)
            | (Q(resolution__isnull=False) & ~Q(resolved_at=F("resolution__resolved_at")))
            | Q(resolution__isnull=False, resolved_at=None)
        ),
        "run_id",
        "decision_id",
        "the decision {} and its resolution differ in whether and when it was resolved",
    ),
    _Rule(
        "request",
        lambda: InteractiveRequest.objects.annotate(
            accepted=Count("submissions", filter=Q(submissions__outcome=SubmissionOutcome.ACCEPTED)),
            validating=Count("submissions", filter=Q(submissions__outcome=SubmissionOutcome.VALIDATING)),
        ).filter(
            Q(accepted__gt=1)
            | Q(validating__gt=1)
            | Q(status=RequestStatus.PENDING, accepted__gt=0)
            | (~Q(status=RequestStatus.PENDING) & Q(validating__gt=0))
        ),
        "run_id",
        "request_id",
        "the request {} has submissions that do not fit how it stands",
    ),
)

_WHEN_OVER = (
    _Rule(
        "over",
        lambda: NodeAttempt.objects.filter(status__in=_OPEN),
        "run_id",
        "attempt_id",
        "the run is over and its attempt {} open",
    ),
    _Rule(
        "over",
        lambda: ActiveInterval.objects.filter(ended_at=None),
        "attempt__run_id",
        "attempt__attempt_id",
        "the run is over and an interval of its attempt {} open",
    ),
    _Rule(
        "over",
        lambda: InteractiveRequest.objects.filter(status=RequestStatus.PENDING),
        "run_id",
        "request_id",
        "the run is over and its request {} pending",
    ),
    _Rule(
        "over",
        lambda: InteractiveSubmission.objects.filter(outcome=SubmissionOutcome.VALIDATING),
        "request__run_id",
        "submission_id",
        "the run is over and its submission {} validating",
    ),
    _Rule(
        "over",
        lambda: HumanDecision.objects.filter(resolution=None),
        "run_id",
        "decision_id",
        "the run is over and its decision {} undecided",
    ),
    _Rule(
        "over",
        lambda: WorkflowTurn.objects.filter(ended_at=None),
        "run_id",
        "turn_id",
        "the run is over and its turn {} open",
    ),
    _Rule(
        "over",
        lambda: WorkflowMessage.objects.filter(status=MessageStatus.PENDING, kind__in=_CANCELLED_AT_THE_END),
        "run_id",
        "message_id",
        "the run is over and its message {} pending",
    ),
    _Rule(
        "over",
        lambda: Effect.objects.filter(owner_scope=RUN_SCOPE, status__in=[EffectStatus.PENDING, EffectStatus.APPLYING]),
        "run_id",
        "effect_id",
        "the run is over and its effect {} pending or applying",
    ),
)
