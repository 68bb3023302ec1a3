"""What can be seen of all runs: here as the model has it, to be held against what the database shows."""

from typing import Any

from tests.model.model import Queue, Run

# By run id: what is seen of the run, and by kind and id of what hangs on it.
Picture = dict[str, dict[str, Any]]
KINDS = ("attempts", "effects", "requests", "decisions", "messages", "turns")


def of_model(queue: Queue) -> Picture:
    return {run_id: {**_of_run(run), **_of_dependents(run)} for run_id, run in queue.runs.items()}


def _of_run(run: Run) -> dict[str, Any]:
    lease = run.lease
    return {
        "axes": (run.status, run.queue_status),
        "display": run.display_status,
        "paused": run.paused,
        "revision": run.revision,
        "error_code": run.error_code,
        "crashes": run.crashes,
        "available_at": run.available_at,
        "ready_at": run.ready_at,
        "lease": (lease.generation, lease.owner_id, lease.expires_at),
        "wish": lease.intent and (lease.intent.wish, lease.intent.due_at),
        "lineage": (run.order.parent_id, run.restart_number),
    }


def _of_dependents(run: Run) -> dict[str, Any]:
    return {
        "attempts": {
            key: (each.node_id, each.number, each.status, each.generation, sum(each.clocks))
            for key, each in run.attempts.items()
        },
        "effects": {
            key: (each.status, each.revision, each.next_at, [one.outcome for one in each.tries])
            for key, each in run.effects.items()
        },
        "requests": {
            key: (each.status, each.revision, {id: one.outcome for id, one in each.submissions.items()})
            for key, each in run.requests.items()
        },
        "decisions": {
            key: (
                *(each.deadline_at, each.version, each.revision, each.outcome, each.provenance),
                sorted((one.person, one.choice, one.outcome) for one in each.answers),
            )
            for key, each in run.decisions.items()
        },
        "messages": {key: (each.kind, each.status) for key, each in run.messages.items()},
        "turns": {key: (each.message_id, each.reason) for key, each in run.turns.items()},
    }


def differences(queue: Picture, model: Picture) -> list[str]:
    """What is seen of one and not of the other, a line each."""
    nothing: dict[str, Any] = {}
    return [
        f"{run_id}, {name}: the queue has {of_queue.get(name)}, the model {of_model.get(name)}"
        for run_id in sorted(queue.keys() | model.keys())
        for of_queue, of_model in [(queue.get(run_id, nothing), model.get(run_id, nothing))]
        for name in sorted(of_queue.keys() | of_model.keys())
        if of_queue.get(name) != of_model.get(name)
    ]
