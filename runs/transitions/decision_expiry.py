"""Deadlines of decisions, carried out. Nothing depends on when: an answer is judged by its own time."""

from collections import defaultdict

from runs import clock, errors, journal, rules_decisions
from runs.models import Event, HumanDecision, Lease, Project, Run
from runs.transitions import decisions, mutex, resolving
from runs.transitions.mutex import BATCH_LIMIT, transition


@transition
def expire_decision(project: Project, run_id: str, decision_id: str) -> HumanDecision:
    """Resolve a decision whose deadline has passed. Refuses one that is resolved or not due."""
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    decision = decisions.found(run, decision_id)
    decisions.refuse_resolved(decision)
    if not rules_decisions.is_due(decision.deadline_at, at):
        left = (
            {} if decision.deadline_at is None else {"retry_in_ms": clock.to_ms(decision.deadline_at) - clock.to_ms(at)}
        )
        raise errors.DecisionNotDue(decision_id=decision_id, **left)

    events = [resolving.by_policy(run, decision, at)]
    events += resolving.store([run], [decision], resolving.POLICY, at)

    journal.write(events)
    return decision


@transition
def expire_decisions(project: Project | None = None, limit: int = BATCH_LIMIT) -> int:
    """Resolve decisions whose deadline has passed, the longest overdue first; how many there were, `limit` at most.

    Of one project or of all. Runs that somebody has locked at the moment are passed over: the next sweep meets them.
    """
    overdue = HumanDecision.objects.filter(resolved_at=None, resolution=None)
    if project is not None:
        overdue = overdue.filter(project=project)
    seen = overdue.filter(deadline_at__lte=clock.now()).order_by("deadline_at", "pk")
    keys = set(seen.values_list("run_id", flat=True)[: min(limit, BATCH_LIMIT)])
    runs = {run.pk: run for run in mutex.under(list(Lease.objects.filter(pk__in=keys).order_by("pk").taken_first()))}
    now = clock.now()

    due = overdue.select_related("default_response").filter(run__in=runs, deadline_at__lte=now)
    by_run: dict[int, list[HumanDecision]] = defaultdict(list)
    for decision in due.order_by("deadline_at", "pk")[: min(limit, BATCH_LIMIT)]:
        by_run[decision.run_id].append(decision)
    events: list[Event] = []
    for key, group in by_run.items():
        run: Run = runs[key]
        events += [resolving.by_policy(run, decision, mutex.never_back(run, now)) for decision in group]
    resolved = [decision for group in by_run.values() for decision in group]
    events += resolving.store([runs[key] for key in by_run], resolved, resolving.POLICY, now)

    journal.write(events)
    return len(resolved)
