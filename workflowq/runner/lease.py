"""What the runner believes about one lease that it was granted. Asks nobody: the heartbeat and the verbs tell it."""

import math
import threading

from workflowq.runner.clock import Ticks
from workflowq.runner.errors import Drained, HoldLost, ServerProblem, lease_expired
from workflowq.runner.wire import Lease


class HeldLease:
    """Held until it is lost, runs out on the local clock, or its last word is spoken. None of these can be undone."""

    def __init__(self, run_id: str, token: str, lease: Lease, clock: Ticks) -> None:
        self.run_id = run_id
        self.token = token
        self.generation = lease.generation
        self._clock = clock
        self._mutex = threading.Lock()
        self._lease = lease
        self._lost: ServerProblem | None = None
        self._handed_back = False
        self._last_word_taken = False

    @property
    def lost(self) -> ServerProblem | None:
        """Why the lease is gone, if it is. Looking at a lease that ran out makes it lost for good."""
        with self._mutex:
            return self._why_lost()

    @property
    def renews(self) -> float:
        return self._lease.renews

    @property
    def ends(self) -> float:
        return self._lease.ends

    @property
    def last_word_taken(self) -> bool:
        return self._last_word_taken

    @property
    def handed_back(self) -> bool:
        """Whether the runner parked the run from outside, over the head of its workflow."""
        return self._handed_back

    def renewed(self, lease: Lease) -> None:
        """Takes the new end, unless somebody was told already that the lease is lost."""
        with self._mutex:
            if self._lost is None and lease.generation == self.generation:
                self._lease = lease

    def note(self, problem: ServerProblem) -> None:
        """Hears what the server said about the run; some problems mean that it is no longer this runner's."""
        if ends_hold(problem):
            with self._mutex:
                self._lost = self._lost or problem

    def check(self) -> None:
        """Raises where nothing may be written: why the lease was lost, or Drained once the run is handed back."""
        with self._mutex:
            if self._handed_back:
                raise Drained(f"run {self.run_id} has been handed back")
            lost = self._why_lost()
        if lost is not None:
            raise lost.again()

    def writing_ends(self) -> float:
        """The tick after which the workflow may write nothing; long past once the run is handed back or lost."""
        with self._mutex:
            return -math.inf if self._handed_back or self._why_lost() is not None else self._lease.ends

    def settling_ends(self) -> float:
        """The tick after which whoever has the last word may no longer repeat it.

        A loss that the heartbeat heard of doesn't count here: after a last word whose answer was lost, a renewal learns
        that the run is finished, and the repeat learns that this very call did it.
        """
        return self._lease.ends

    def take_last_word(self, *, handing_back: bool = False) -> bool:
        """True for exactly one caller, and only while it is held; that one may complete, fail or park the run."""
        with self._mutex:
            if self._last_word_taken or self._why_lost() is not None:
                return False
            self._last_word_taken = True
            self._handed_back = handing_back
            return True

    def _why_lost(self) -> ServerProblem | None:
        if self._lost is None and self._clock() >= self._lease.ends:
            self._lost = lease_expired()
        return self._lost


def ends_hold(problem: ServerProblem) -> bool:
    """Whether a refusal of a holder's call means that the run is gone for it; a deleted run is one that isn't found."""
    return isinstance(problem, HoldLost) or problem.action == "stop" or problem.code == "not_found"
