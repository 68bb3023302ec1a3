"""One claimed run from its first step to its last word. Where it came from and what follows is the runner's part."""

import enum
import logging
from collections.abc import Callable

from workflowq.runner.client import Client
from workflowq.runner.clock import Deadline
from workflowq.runner.context import Context
from workflowq.runner.definition import same_digest
from workflowq.runner.errors import Drained, ServerProblem, TryLater
from workflowq.runner.fault import describe
from workflowq.runner.lease import HeldLease
from workflowq.runner.redactor import Redactor
from workflowq.runner.wire import Json, Run
from workflowq.runner.workflow import Workflow

log = logging.getLogger("workflowq.runner")

FAILED_CODE = "workflowFailed"


class Outcome(enum.Enum):
    COMPLETED = "completed"
    FAILED = "failed"
    PARKED = "parked"
    REFUSED = "handed back"  # this process can't run it and shouldn't take it again
    LOST = "lost"
    UNCLEAR = "left with no answer"


class Execution:
    """Runs a workflow for a claim and says the last word on it, unless the lease is lost or somebody else said it."""

    def __init__(
        self,
        client: Client,
        run: Run,
        held: HeldLease,
        workflow: Workflow | None,
        redactor: Redactor,
        draining: Callable[[], bool],
    ) -> None:
        self.run = run
        self.held = held
        self._client = client
        self._workflow = workflow
        self._redactor = redactor
        self._draining = draining
        self._context = Context(client, run, held, redactor, draining)
        self._detail = ""

    def perform(self) -> Outcome:
        """Does the work and ends it; never raises."""
        began = self._client.clock()
        try:
            outcome = self._begin()
        except ServerProblem as problem:
            self.held.note(problem)
            outcome = self._after(problem)
        except BaseException as error:
            self._detail, outcome = f"an error in the kit: {describe(error, self._redactor)}", Outcome.UNCLEAR
        self._tell(outcome, self._client.clock() - began)
        return outcome

    def hand_back(self, until: Deadline) -> bool:
        """Parks the run from outside while its function may still be at work, which can't write from here on."""
        if not self.held.take_last_word(handing_back=True):
            return False
        try:
            self._client.park(self.run.run_id, self.held.token, until=lambda: min(until(), self.held.settling_ends()))
        except ServerProblem as problem:
            self.held.note(problem)
            log.warning("run %s could not be handed back, its lease will run out: %s", self.run.run_id, problem)
            return False
        log.info("run %s %s parked: the grace ended", self.run.run_id, self.run.workflow_name)
        return True

    def _begin(self) -> Outcome:
        if self._draining():
            return self._park(Outcome.PARKED, "the runner is stopping")
        workflow = self._workflow
        if workflow is None:
            return self._park(Outcome.REFUSED, "this runner has no such workflow")
        if not same_digest(workflow.definition.digest, self.run.definition_digest):
            return self._park(Outcome.REFUSED, "the run was reserved with other code than is here")
        self._client.mark_running(self.run.run_id, self.held.token, until=self.held.writing_ends)
        try:
            output = workflow(self._context, self.run.input)
        except Drained:
            return self._park(Outcome.PARKED, "the runner is stopping")
        except BaseException as error:  # a workflow that calls sys.exit() ends its run, not the runner
            return self._fail(error)
        if self._context.drained:  # it swallowed Drained: what it made of the missing steps is no result
            return self._park(Outcome.PARKED, "the runner is stopping")
        return self._complete(output)

    def _complete(self, output: Json) -> Outcome:
        run_id, token = self.run.run_id, self.held.token
        if not self.held.take_last_word():
            return self._too_late()
        try:
            self._client.complete(run_id, token, output, until=self.held.settling_ends)
        except ServerProblem as problem:
            self.held.note(problem)
            if problem.action != "mend" or self.held.lost is not None:
                return self._after(problem)
            if problem.code == "open_work":
                return self._send_back(Outcome.REFUSED, str(problem))
            return self._send_failure(problem)
        return Outcome.COMPLETED

    def _fail(self, error: BaseException) -> Outcome:
        if self._context.drained:
            return self._park(Outcome.PARKED, "the runner is stopping")
        if not self.held.take_last_word():
            return self._too_late()
        return self._send_failure(error)

    def _park(self, outcome: Outcome, why: str) -> Outcome:
        return self._send_back(outcome, why) if self.held.take_last_word() else self._too_late()

    def _send_failure(self, error: BaseException) -> Outcome:
        text = describe(error, self._redactor)
        self._detail = text.split("\n", 1)[0]
        self._client.fail(
            self.run.run_id,
            self.held.token,
            error_code=FAILED_CODE,
            error_message=text,
            until=self.held.settling_ends,
        )
        return Outcome.FAILED

    def _send_back(self, outcome: Outcome, why: str) -> Outcome:
        self._detail = why
        self._client.park(self.run.run_id, self.held.token, until=self.held.settling_ends)
        return outcome

    def _too_late(self) -> Outcome:
        """Somebody else had the last word, or the lease is gone: nothing is written."""
        if self.held.handed_back:
            return Outcome.PARKED
        self._detail = str(self.held.lost)
        return Outcome.LOST

    def _after(self, problem: ServerProblem) -> Outcome:
        """What a refused start or a refused last word comes to: where nobody can tell, the lease runs out."""
        lost = self.held.lost
        self._detail = str(lost or problem)
        # An unanswered last word may have been heard all the same.
        unheard = self.held.last_word_taken and isinstance(problem, TryLater)
        return Outcome.UNCLEAR if unheard or lost is None else Outcome.LOST

    def _tell(self, outcome: Outcome, seconds: float) -> None:
        if self.held.handed_back:
            return  # told when it happened
        level = logging.INFO if outcome in (Outcome.COMPLETED, Outcome.PARKED) else logging.WARNING
        what = f"run {self.run.run_id} {self.run.workflow_name} {outcome.value}"
        how = f"in {seconds:.2f} s, generation {self.held.generation}, {self._context.steps_done} step(s) done here"
        log.log(level, "%s %s%s", what, how, f": {self._detail}" if self._detail else "")
