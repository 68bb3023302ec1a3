"""What is stored: one noun a file, with its fields, constraints and query phrases. No rules here."""

from runs.models.access_token import AccessToken
from runs.models.attempt import NodeAttempt
from runs.models.blob import Blob
from runs.models.decision import DecisionResolution, DecisionSubmission, HumanDecision
from runs.models.definition import Workflow, WorkflowDefinition
from runs.models.effect import Effect, EffectAttempt
from runs.models.event import Event
from runs.models.interval import ActiveInterval
from runs.models.late_result import LateResult
from runs.models.lease import Lease
from runs.models.message import WorkflowMessage, WorkflowTurn
from runs.models.owner import Owner
from runs.models.project import Project
from runs.models.receipt import Receipt
from runs.models.request import InteractiveRequest, InteractiveSubmission
from runs.models.run import Run

__all__ = [
    "AccessToken",
    "ActiveInterval",
    "Blob",
    "DecisionResolution",
    "DecisionSubmission",
    "Effect",
    "EffectAttempt",
    "Event",
    "HumanDecision",
    "InteractiveRequest",
    "InteractiveSubmission",
    "LateResult",
    "Lease",
    "NodeAttempt",
    "Owner",
    "Project",
    "Receipt",
    "Run",
    "Workflow",
    "WorkflowDefinition",
    "WorkflowMessage",
    "WorkflowTurn",
]
