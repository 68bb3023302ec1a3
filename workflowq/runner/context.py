"""What a workflow function is given: durable steps, progress and events of one run. Each write asks the lease first."""

import contextlib
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from workflowq.runner.client import Client
from workflowq.runner.clock import Deadline
from workflowq.runner.errors import Drained, HoldLost, KitError, NodeRepeated, ServerProblem, TryLater, WrongInput
from workflowq.runner.fault import describe
from workflowq.runner.lease import HeldLease
from workflowq.runner.redactor import Redactor
from workflowq.runner.wire import Attempt, Json, Run

_P = ParamSpec("_P")
_T = TypeVar("_T")

_PROGRESS_SECONDS = 0.5
_NOTE_SECONDS = 5.0  # outside a step progress is an event, which is kept for ever


class Context:
    """One run in the hands of its workflow function. Used from the thread that runs the function."""

    def __init__(
        self, client: Client, run: Run, held: HeldLease, redactor: Redactor, draining: Callable[[], bool]
    ) -> None:
        self._client = client
        self._run = run
        self._held = held
        self._redactor = redactor
        self._draining = draining
        self._nodes: set[str] = set()
        self._open: Attempt | None = None
        self._progress_from = 0.0
        self.drained = False
        self.steps_done = 0

    @property
    def run_id(self) -> str:
        return self._run.run_id

    @property
    def input(self) -> Json:
        return self._run.input

    def step(self, node_id: str, fn: Callable[_P, Any], /, *args: _P.args, **kwargs: _P.kwargs) -> Json:
        """The output of `fn(*args, **kwargs)`, stored under this node id: once there, `fn` isn't run again.

        The output must be JSON and comes back as the server keeps it, the same on the first pass and on every later
        one. An exception of `fn` is stored as the attempt's error and raised. Drained means that the runner stops.
        """
        self._admit(node_id)
        attempt_id = uuid.uuid4().hex
        attempt = self._write(
            lambda until: self._client.start_attempt(
                self.run_id, self._held.token, node_id=node_id, attempt_id=attempt_id, until=until
            )
        )
        if attempt.status == "completed":
            return attempt.output
        self._open, self._progress_from = attempt, 0.0
        try:
            output = _json(node_id, fn(*args, **kwargs))
            attempt = self._complete(attempt, output)
        except BaseException as error:
            self._report(attempt, error)
            raise
        finally:
            self._open = None
        self.steps_done += 1
        return attempt.output

    def progress(self, value: Json) -> None:
        """Shows how far the work is: at most twice a second on the open step, else as an event every 5 s.

        Calls in between cost no more than a look at the lease; raises where the run is no longer this runner's, so that
        a long step which calls it stops soon after.
        """
        self._check()
        now = self._client.clock()
        if now < self._progress_from:
            return
        attempt = self._open
        self._progress_from = now + (_NOTE_SECONDS if attempt is None else _PROGRESS_SECONDS)
        if attempt is None:
            self.log("progress", {"progress": value})
            return
        try:
            self._client.progress_attempt(self.run_id, self._held.token, attempt.attempt_id, value)
        except TryLater:
            self._progress_from = self._client.clock() + _NOTE_SECONDS  # the work is worth more than the telling
        except ServerProblem as problem:
            self._hear(problem)
            raise

    def log(self, type: str, payload: Mapping[str, Json] | None = None) -> None:
        """Records one event of the workflow's own type with the run; the payload is a JSON object."""
        self._write(
            lambda until: self._client.record_event(self.run_id, type, payload, token=self._held.token, until=until)
        )

    def _admit(self, node_id: str) -> None:
        if self._open is not None:
            raise KitError(f"step {node_id!r} was begun inside step {self._open.node_id!r}; steps don't nest")
        if node_id in self._nodes:
            raise NodeRepeated(f"step {node_id!r} comes twice in this run; give each its own id, such as '{node_id}:2'")
        if self._draining():
            self.drained = True
            raise Drained(f"the runner is stopping; run {self.run_id} goes on elsewhere")
        self._nodes.add(node_id)

    def _complete(self, attempt: Attempt, output: Json) -> Attempt:
        return self._write(
            lambda until: self._client.complete_attempt(
                self.run_id, self._held.token, attempt.attempt_id, output, until=until
            )
        )

    def _report(self, attempt: Attempt, error: BaseException) -> None:
        """Stores why a step failed, where that is still this runner's to say; the error itself matters more."""
        if isinstance(error, HoldLost | Drained):
            return
        text = describe(error, self._redactor)
        with contextlib.suppress(ServerProblem, Drained):
            self._write(
                lambda until: self._client.fail_attempt(
                    self.run_id, self._held.token, attempt.attempt_id, text, until=until
                )
            )

    def _write(self, call: Callable[[Deadline], _T]) -> _T:
        self._check()
        try:
            return call(self._held.writing_ends)
        except ServerProblem as problem:
            self._hear(problem)
            raise

    def _hear(self, problem: ServerProblem) -> None:
        """Takes in what the server said; where that, or the time it took, ended the hold, raises the reason instead."""
        self._held.note(problem)
        self._check()

    def _check(self) -> None:
        try:
            self._held.check()
        except Drained:
            self.drained = True
            raise


def _json(node_id: str, output: object) -> Json:
    """The output as JSON carries it; refuses what would not come back as it went."""
    try:
        json.dumps(output, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongInput(
            "invalid_json", "mend", 0, f"step {node_id!r} gave something that JSON can't hold: {error}"
        ) from None
    return output
