"""The claim loop: asks for as many runs as there are free slots, starts them, hands back what is left when it stops."""

import logging
import secrets
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from workflowq.runner.backoff import Backoff
from workflowq.runner.client import Client
from workflowq.runner.errors import ServerAway, ServerProblem, TryLater
from workflowq.runner.execution import Execution, Outcome
from workflowq.runner.heartbeat import Heartbeat
from workflowq.runner.lease import HeldLease
from workflowq.runner.redactor import Redactor
from workflowq.runner.wire import Claim
from workflowq.runner.workflow import Workflow

log = logging.getLogger("workflowq.runner")

MAX_CONCURRENCY = 100  # tokens in one claim call
_EXCLUDED = 100  # run ids in one claim call
_LEAST_POLL = 0.2
_PARKING_SECONDS = 3.0


class Runner:
    """Serves workflows on a pool of threads until it is told to stop. A process may have several of them."""

    def __init__(
        self,
        client: Client,
        workflows: Mapping[str, Workflow],
        *,
        owner_id: str,
        concurrency: int = 4,
        lease_seconds: float = 30.0,
        grace_seconds: float = 10.0,
        redactor: Redactor | None = None,
    ) -> None:
        if not 1 <= concurrency <= MAX_CONCURRENCY:
            raise ValueError(f"concurrency must be 1 to {MAX_CONCURRENCY}")
        self._client = client
        self._workflows = dict(workflows)
        self._owner_id = owner_id
        self._concurrency = concurrency
        self._lease_ms = round(lease_seconds * 1000)
        self._grace = grace_seconds
        self._redactor = redactor or Redactor()
        self._heartbeat = Heartbeat(client, self._lease_ms)
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="workflowq-run")
        self._mutex = threading.Lock()
        self._active: dict[str, Execution] = {}
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._tokens: list[str] = []
        self._away = Backoff()
        self._crowded = Backoff(base=1.0)
        self._crowd_met = False
        self._handed_back: deque[str] = deque(maxlen=_EXCLUDED)

    @property
    def draining(self) -> bool:
        return self._stopping.is_set()

    @property
    def busy(self) -> bool:
        """Whether a workflow function is still at work in some thread, its run handed back or not."""
        with self._mutex:
            return bool(self._active)

    def stop(self) -> None:
        """Begins the drain: nothing new is taken, steps notice at the next boundary. Not for signal handlers."""
        self._stopping.set()
        self._wake.set()

    def serve(self) -> None:
        """Takes and runs until stop() is called; raises the ServerProblem that refuses the runner as such."""
        self._heartbeat.start()
        refused: ServerProblem | None = None
        try:
            while not self.draining and refused is None:
                refused = self._turn()
            self._stopping.set()
            self._drain()
        finally:
            self._heartbeat.stop()
            self._pool.shutdown(wait=False)
        if refused is not None:
            raise refused

    def _turn(self) -> ServerProblem | None:
        free = self._concurrency - len(self._active)
        if free <= 0:
            self._rest(None)
            return None
        try:
            self._rest(self._take(free))
        except TryLater as problem:
            if self._away.failures == 0:
                log.warning("the server has no answer, asking again: %s", problem)
            self._stopping.wait(self._away.next(problem.retry_after))
        except ServerProblem as problem:
            return problem
        return None

    def _take(self, free: int) -> float:
        """Claims and starts up to `free` runs; the seconds until the next asking."""
        # Tokens whose answer was lost are sent again: runs claimed with them come back instead of waiting for expiry.
        self._tokens += [secrets.token_urlsafe(32) for _ in range(free - len(self._tokens))]
        answer = self._client.claim_next(
            self._owner_id,
            sorted(self._workflows),
            self._tokens,
            lease_ms=self._lease_ms,
            exclude_run_ids=self._excluded(),
        )
        if any(not 0 <= claim.slot < len(self._tokens) for claim in answer.claims):
            raise ServerAway.because("a claim in the answer has no token of ours")
        tokens, self._tokens = self._tokens, []
        if self._away.failures:
            log.info("the server is back")
            self._away.reset()
        for claim in answer.claims:
            self._start(claim, tokens[claim.slot])
        return self._away.spread(max(_LEAST_POLL, answer.poll_in))

    def _start(self, claim: Claim, token: str) -> None:
        held = HeldLease(claim.run.run_id, token, claim.lease, self._client.clock)
        self._redactor.learn(token)
        workflow = self._workflows.get(claim.run.workflow_name)
        execution = Execution(self._client, claim.run, held, workflow, self._redactor, self._stopping.is_set)
        with self._mutex:
            self._active[token] = execution
        self._heartbeat.add(held)
        self._pool.submit(self._perform, execution)

    def _perform(self, execution: Execution) -> None:
        held = execution.held
        try:
            outcome = execution.perform()
        finally:
            self._heartbeat.drop(held)
            self._redactor.forget(held.token)
            with self._mutex:
                self._active.pop(held.token, None)
        self._count(held.run_id, outcome)
        self._wake.set()

    def _count(self, run_id: str, outcome: Outcome) -> None:
        """Remembers what this process can't run.

        Past what a claim call can exclude such runs come round again; that shall be seldom, until something that this
        process can run has come between them.
        """
        with self._mutex:
            if outcome is Outcome.REFUSED:
                self._handed_back.append(run_id)
                self._crowd_met = len(self._handed_back) == _EXCLUDED
            else:
                self._crowded.reset()

    def _excluded(self) -> list[str]:
        """Runs not to be handed to this process: those that have a thread, then those that it can't run."""
        with self._mutex:
            # Also those thought held: the lease may be lost already, and a second thread would do the same work beside.
            at_work = [execution.run.run_id for execution in self._active.values()]
            return list(dict.fromkeys([*at_work, *reversed(self._handed_back)]))[:_EXCLUDED]

    def _rest(self, seconds: float | None) -> None:
        """Waits for a free slot, the next poll or the stop, whichever comes first."""
        if self._crowd_met:
            self._crowd_met = False
            self._stopping.wait(self._crowded.next())
        else:
            self._wake.wait(seconds)
        self._wake.clear()

    def _drain(self) -> None:
        held = self._held()
        if held:
            log.info("stopping: %d run(s) at work have %.0f s to reach a boundary", len(held), self._grace)
        end = self._client.clock() + self._grace
        while self._held() and (left := end - self._client.clock()) > 0:
            self._wake.wait(min(left, 0.5))  # a lease may be lost meanwhile, which wakes nobody
            self._wake.clear()
        end = self._client.clock() + _PARKING_SECONDS
        for execution in self._held():
            execution.hand_back(lambda: end)
            self._heartbeat.drop(execution.held)

    def _held(self) -> list[Execution]:
        with self._mutex:
            return [execution for execution in self._active.values() if execution.held.lost is None]
