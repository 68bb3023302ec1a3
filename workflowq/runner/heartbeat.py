"""Renews every lease of the process in one call, on a thread that workflows can't block. Decides nothing about runs."""

import logging
import math
import threading
from collections.abc import Sequence

from workflowq.runner.backoff import Backoff
from workflowq.runner.client import Client
from workflowq.runner.errors import ServerProblem, TryLater
from workflowq.runner.lease import HeldLease, ends_hold

log = logging.getLogger("workflowq.runner")

_BATCH = 100  # what one renewal call takes
_LEAST_TIMEOUT = 0.25


class Heartbeat:
    """Renews at the time that the server named, a third into the lease.

    After trouble it asks again with growing waits until each lease has run out on the local clock. However long the
    machine slept, there is nothing to make up for: leases that ran out are lost, one call renews the rest.
    """

    def __init__(self, client: Client, lease_ms: int) -> None:
        self._client = client
        self._lease_ms = lease_ms
        self._changed = threading.Condition()
        self._held: dict[str, HeldLease] = {}
        self._backoff = Backoff(base=min(0.5, lease_ms / 8000), cap=max(0.1, min(5.0, lease_ms / 8000)))
        self._not_before = -math.inf
        self._stopping = False
        self._thread = threading.Thread(target=self._beat_on, name="workflowq-heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def add(self, held: HeldLease) -> None:
        with self._changed:
            self._held[held.token] = held
            self._changed.notify_all()

    def drop(self, held: HeldLease) -> None:
        with self._changed:
            self._held.pop(held.token, None)

    def due_in(self) -> float | None:
        """Seconds until the next beat, None while nothing is held."""
        with self._changed:
            if not self._held:
                return None
            renews = min(held.renews for held in self._held.values())
            ends = min(held.ends for held in self._held.values())
        return max(0.0, min(max(renews, self._not_before), ends) - self._client.clock())

    def beat(self) -> None:
        """Marks what has run out as lost and renews the rest, all of it, whichever lease was due."""
        with self._changed:
            everything = list(self._held.values())
        held = [one for one in everything if one.lost is None]
        for gone in everything:
            if gone.lost is not None:
                self._let_go(gone)
        troubles = [self._renew(held[start : start + _BATCH]) for start in range(0, len(held), _BATCH)]
        if any(troubles):
            self._not_before = self._client.clock() + self._backoff.next()
        elif held:
            self._backoff.reset()
            self._not_before = self._client.clock() + self._lease_ms / 10_000  # however soon the server wants the next

    def _renew(self, held: Sequence[HeldLease]) -> bool:
        """Whether this batch met trouble and has to be asked for again."""
        left = min(one.ends for one in held) - self._client.clock()
        asked = [(one.run_id, one.token) for one in held]
        try:
            renewals = self._client.renew_all(asked, lease_ms=self._lease_ms, timeout=max(_LEAST_TIMEOUT, left / 2))
        except ServerProblem as problem:
            if not isinstance(problem, TryLater) or self._backoff.failures == 0:
                log.warning("renewing %d lease(s) failed, asking again: %s", len(held), problem)
            return True
        trouble = False
        for one, renewal in zip(held, renewals, strict=True):
            if renewal.lease is not None:
                one.renewed(renewal.lease)
            elif renewal.problem is not None and ends_hold(renewal.problem):
                one.note(renewal.problem)
                self._let_go(one)
            else:
                trouble = True
        return trouble

    def _let_go(self, held: HeldLease) -> None:
        with self._changed:
            known = self._held.pop(held.token, None)
        if known is not None and not held.last_word_taken:
            log.warning("run %s is lost: %s", held.run_id, held.lost)

    def _beat_on(self) -> None:
        while True:
            with self._changed:
                while not self._stopping and (pause := self.due_in()) != 0:
                    self._changed.wait(pause)
                if self._stopping:
                    return
            try:
                self.beat()
            except Exception:  # a dead heartbeat would lose every run without a word
                log.exception("the heartbeat met an error of its own and goes on")
                with self._changed:
                    self._changed.wait(1.0)
