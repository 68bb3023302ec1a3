"""Reads about what runs ask of sessions and people: requests, submissions, decisions, messages, turns."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q, QuerySet

from runs import errors
from runs.models import (
    DecisionSubmission,
    HumanDecision,
    InteractiveRequest,
    InteractiveSubmission,
    Project,
    Run,
    Workflow,
    WorkflowMessage,
    WorkflowTurn,
)
from runs.states import SubmissionOutcome


def awaiting_validation(project: Project, workflows: Collection[str], at: datetime, limit: int) -> list[str]:
    """Ids of runs of these workflows with a submission to validate and no live lease, the longest waiting first."""
    keys = list(Workflow.objects.filter(project=project, name__in=workflows).values_list("pk", flat=True))
    free = Q(request__run__lease__owner_id=None) | Q(request__run__lease__expires_at__lte=at)
    found = InteractiveSubmission.objects.filter(
        free,
        outcome=SubmissionOutcome.VALIDATING,
        request__run__project=project,
        request__run__workflow__in=keys,
        request__run__paused=False,
    )
    return list(dict.fromkeys(found.order_by("pk").values_list("request__run__run_id", flat=True)[:limit]))


def requests(run: Run) -> QuerySet[InteractiveRequest]:
    """A run's requests in the order in which they were raised."""
    return InteractiveRequest.objects.filter(run=run).select_related("run", "attempt", "contract").order_by("pk")


def request(run: Run, request_id: str) -> InteractiveRequest:
    """One request. Refuses an id that the run does not have."""
    found = requests(run).filter(request_id=request_id).first()
    if found is None:
        raise errors.RequestNotFound(run_id=run.run_id, request_id=request_id)
    return found


def submissions(request: InteractiveRequest) -> QuerySet[InteractiveSubmission]:
    """The submissions to a request in the order in which they were taken."""
    found = InteractiveSubmission.objects.filter(request=request)
    return found.select_related("request__run", "payload", "receipt").order_by("pk")


def accepted_and_validating(
    request: InteractiveRequest,
) -> tuple[InteractiveSubmission | None, InteractiveSubmission | None]:
    """The submission that settled the request, and the one to validate: one of them at most."""
    if request.accepted_submission_id is not None:
        return submissions(request).filter(submission_id=request.accepted_submission_id).first(), None
    return None, submissions(request).filter(outcome=SubmissionOutcome.VALIDATING).first()


def requests_to_validate(run: Run) -> QuerySet[InteractiveRequest]:
    """A run's requests that have a submission to validate."""
    waiting = InteractiveSubmission.objects.filter(outcome=SubmissionOutcome.VALIDATING, request__run=run)
    return requests(run).filter(pk__in=waiting.values("request"))


def decisions(project: Project) -> QuerySet[HumanDecision]:
    """The project's decisions in the order in which they were asked."""
    return _whole(HumanDecision.objects.filter(project=project)).order_by("pk")


def open_decisions(project: Project) -> QuerySet[HumanDecision]:
    """The project's undecided decisions: first those with a deadline, by it, then the others as they were asked."""
    return _whole(HumanDecision.objects.filter(project=project, resolved_at=None, resolution=None))


def decisions_of(run: Run) -> QuerySet[HumanDecision]:
    """A run's decisions in the order in which they were asked."""
    return _whole(HumanDecision.objects.filter(run=run)).order_by("pk")


def decision(run: Run, decision_id: str) -> HumanDecision:
    """One decision. Refuses an id that the run does not have."""
    found = decisions_of(run).filter(decision_id=decision_id).first()
    if found is None:
        raise errors.DecisionNotFound(run_id=run.run_id, decision_id=decision_id)
    return found


def answers(decision: HumanDecision) -> QuerySet[DecisionSubmission]:
    """What people answered, in order, with what became of each answer."""
    return DecisionSubmission.objects.filter(decision=decision).select_related("input").order_by("pk")


def messages_to(project: Project, session_id: str) -> QuerySet[WorkflowMessage]:
    """A session's messages, of all runs, in its order."""
    found = WorkflowMessage.objects.filter(project=project, target_session_id=session_id)
    return found.select_related("run", "content", "evidence").order_by("order")


def messages_of(run: Run) -> QuerySet[WorkflowMessage]:
    """A run's messages in the order in which they were queued."""
    return WorkflowMessage.objects.filter(run=run).select_related("run", "content", "evidence").order_by("pk")


def turns_of(run: Run) -> QuerySet[WorkflowTurn]:
    """A run's turns in the order in which they were opened."""
    return WorkflowTurn.objects.filter(run=run).select_related("run", "message").order_by("pk")


def _whole(found: QuerySet[HumanDecision]) -> QuerySet[HumanDecision]:
    return found.select_related("run", "attempt", "request", "resolution", "resolution__response")
