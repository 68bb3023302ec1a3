"""What every walk has: a project of its own, a clock that stands still, the model beside it, and the comparison."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import TypeVar

from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from runs import errors
from runs.models import Lease, Project
from tests import by_hand
from tests.builders import FrozenClock
from tests.model import picture, rows
from tests.model.model import Queue, Refused
from tests.model.picture import KINDS
from tests.soundness import assert_sound

# Few of everything: only who meets others can conflict with them. A failing walk shrinks to the first ones.
# A run stands in one of a few slots; the next one takes the slot of one that is over.
SLOTS = st.sampled_from(["a", "a", "a", "a", "b", "b", "c", "d"])
SESSIONS = st.sampled_from(["session-a", "session-a", "session-b"])

T = TypeVar("T")
Answer = tuple[str, object]


class Walk(RuleBasedStateMachine):
    """A walk; its rows are gone after it. Each rule does one thing to both queues, and they must say the same."""

    def __init__(self) -> None:
        super().__init__()
        by_hand.forget()
        self._stack = ExitStack()
        self._stack.enter_context(_rolled_back())
        self.clock = self._stack.enter_context(FrozenClock())
        self.project = Project.objects.create(path="project")
        self.queue = Queue(self._spread)
        self.run_ids = {slot: f"run-{slot}" for slot in "abcd"}
        self.tokens: defaultdict[str, list[str]] = defaultdict(list)
        self._numbers = count(1)
        self._agree = True

    def teardown(self) -> None:
        with self._stack:
            if self._agree:
                self._compare(KINDS)
                assert_sound()

    def both(
        self, model: Callable[[], object], product: Callable[[], T], told: Callable[[T], object] | None = None
    ) -> bool:
        """Whether the verb was allowed, by both. `told` is what of the product's answer the model answers, too."""
        self._agree = False
        # The product first: where it may choose, the model looks at what it chose.
        actual, expected = _of_product(product, told), _of_model(model)
        assert actual == expected, f"the queue answers {actual}, the model {expected}"
        # Of what the model has none of, a walk's end makes sure.
        self._compare([kind for kind in KINDS if any(getattr(run, kind) for run in self.queue.runs.values())])
        self._agree = True
        return actual[0] == "done"

    def number(self) -> int:
        """One that has not been used in this walk."""
        return next(self._numbers)

    def known(self, run_id: str, kind: str, name: str) -> str:
        """The name; or, where the run has none of it but others of the kind ("effects", say), the newest of those."""
        run = self.queue.runs.get(run_id)
        there = getattr(run, kind) if run else {}
        return name if name in there or not there else list(there)[-1]

    def pass_by(self, ms: int) -> None:
        """Time passes, and nothing else happens."""
        if ms <= 0:
            return
        self.clock.advance(ms)
        self.queue.now += ms

    def _compare(self, kinds: Collection[str]) -> None:
        differences = picture.differences(rows.of_database(self.project, kinds), picture.of_model(self.queue))
        assert not differences, "\n".join(differences)

    def _spread(self, run_id: str) -> int:
        return Lease.objects.values_list("backoff_ms", flat=True).get(run__project=self.project, run__run_id=run_id)


@contextmanager
def _rolled_back() -> Iterator[None]:
    with transaction.atomic():
        try:
            yield
        finally:
            transaction.set_rollback(True)


def _of_model(verb: Callable[[], object]) -> Answer:
    try:
        return "done", verb()
    except Refused as refusal:
        return "refused", str(refusal)


def _of_product(verb: Callable[[], T], told: Callable[[T], object] | None) -> Answer:
    try:
        answer = verb()
    except errors.Refusal as refusal:
        return "refused", ": ".join([refusal.code, *filter(None, [refusal.facts.get("cause")])])
    return "done", told and told(answer)
