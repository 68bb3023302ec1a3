"""The runner kit: write a durable workflow as a plain function and run it on any machine. No Django in here.

    from workflowq.runner import Context, workflow

    @workflow("greeting")
    def greeting(ctx: Context, input):
        name = ctx.step("name", look_up, input["id"])
        return {"text": f"Hello {name}"}

`python -m workflowq.runner your.module` serves it.
"""

from workflowq.runner.client import Client
from workflowq.runner.context import Context
from workflowq.runner.definition import Definition
from workflowq.runner.errors import (
    Drained,
    HoldLost,
    KitError,
    LeaseLost,
    NodeRepeated,
    RunCancelled,
    RunFinished,
    RunPaused,
    ServerAway,
    ServerProblem,
    SettingsWrong,
    TryLater,
    WorkflowUnusable,
    WrongInput,
)
from workflowq.runner.identity import owner_id
from workflowq.runner.runner import Runner
from workflowq.runner.wire import Attempt, Claim, Claims, Json, Lease, Page, Renewal, Reservation, Run
from workflowq.runner.workflow import Workflow, workflow, workflows_in

__all__ = [
    "Attempt",
    "Claim",
    "Claims",
    "Client",
    "Context",
    "Definition",
    "Drained",
    "HoldLost",
    "Json",
    "KitError",
    "Lease",
    "LeaseLost",
    "NodeRepeated",
    "Page",
    "Renewal",
    "Reservation",
    "Run",
    "RunCancelled",
    "RunFinished",
    "RunPaused",
    "Runner",
    "ServerAway",
    "ServerProblem",
    "SettingsWrong",
    "TryLater",
    "Workflow",
    "WorkflowUnusable",
    "WrongInput",
    "owner_id",
    "workflow",
    "workflows_in",
]
