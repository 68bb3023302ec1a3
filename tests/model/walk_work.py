"""Rules of a walk: the attempts and the effects of a run."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import rules_effects, transitions
from runs.models import Effect, Run
from runs.states import PARK_EFFECT, SETTLE_EFFECT, AttemptStatus, EffectOutcome, ErrorCode
from runs.transitions import AttemptStart, EffectReservation, Hold, Observation
from tests.builders import OPERATOR, derive
from tests.model import attempts, dependents, effects, holding
from tests.model.walk import SLOTS
from tests.model.walk_leases import TOKENS, Leases

NODES = st.sampled_from(["node-1", "node-1", "node-2"])
ATTEMPTS = st.sampled_from(["attempt-1", "attempt-1", "attempt-2", "attempt-3"])
# By key: the type of the effect, and whose it is. The last three are not for callers to make.
TYPES = {
    "first": ("mail", "run"),
    "second": ("mail", "run"),
    "park": (PARK_EFFECT, "run"),
    "settle": (SETTLE_EFFECT, "run"),
    "elsewhere": ("mail", "project"),
}
KEYS = st.sampled_from(["first", "first", "first", "second", "elsewhere"])
OUTCOMES = st.sampled_from([EffectOutcome.APPLIED, EffectOutcome.REJECTED, EffectOutcome.AMBIGUOUS])
MEANWHILE = st.sampled_from(["nothing", "nothing", "parked", "lost"])
RETRIES = st.sampled_from([None, 60_000, 0])
NUMBERS = st.sampled_from([0, 0, 0, -1])  # relative to the latest try


class Attempts(Leases):
    """Nodes are tried."""

    @rule(slot=SLOTS, which=TOKENS, attempt_id=ATTEMPTS, node_id=NODES, timeout_ms=st.sampled_from([1_000, None]))
    def start_attempt(self, slot: str, which: str, attempt_id: str, node_id: str, timeout_ms: int | None) -> None:
        run_id, token = self.aim(slot, which)
        start = AttemptStart(attempt_id, node_id, timeout_ms=timeout_ms)
        self.both(
            lambda: attempts.start_attempt(self.queue, run_id, token, attempt_id, node_id, timeout_ms),
            lambda: transitions.start_attempt(self.project, Hold(run_id, token), start),
            lambda started: (started[0].attempt_id, started[1]),
        )

    def observe(self, slot: str, which: str, attempt_id: str, active_ms: int) -> None:
        run_id, token = self.aim(slot, which)
        attempt_id = self.known(run_id, "attempts", attempt_id)
        self.both(
            lambda: attempts.observe(self.queue, run_id, token, attempt_id, active_ms),
            lambda: transitions.progress_attempt(
                self.project, Hold(run_id, token), Observation(attempt_id, None, active_ms)
            ),
        )

    @rule(slot=SLOTS, which=TOKENS, attempt_id=ATTEMPTS, completes=st.booleans())
    def end_attempt(self, slot: str, which: str, attempt_id: str, completes: bool) -> None:
        run_id, token = self.aim(slot, which)
        attempt_id = self.known(run_id, "attempts", attempt_id)
        status = AttemptStatus.COMPLETED if completes else AttemptStatus.FAILED
        self.both(
            lambda: attempts.end_attempt(self.queue, run_id, token, attempt_id, status),
            lambda: (
                transitions.complete_attempt(self.project, Hold(run_id, token), attempt_id)
                if completes
                else transitions.fail_attempt(self.project, Hold(run_id, token), attempt_id, "why")
            ),
        )

    @rule(slot=SLOTS, attempt_id=ATTEMPTS, completes=st.booleans())
    def work(self, slot: str, attempt_id: str, completes: bool) -> None:
        """What a holder does most of all: progress."""
        self.start_attempt(slot=slot, which="a holder's", attempt_id=attempt_id, node_id=attempt_id, timeout_ms=None)
        self.end_attempt(slot=slot, which="the latest", attempt_id=attempt_id, completes=completes)


class Effects(Leases):
    """Things are done outside, and doubted, and settled."""

    @rule(slot=SLOTS, which=TOKENS, key=KEYS, payload=st.sampled_from(["this", "this", "that"]))
    def reserve_effect(self, slot: str, which: str, key: str, payload: str) -> None:
        (run_id, token), (effect_type, _) = self.aim(slot, which), TYPES[key]
        self.both(
            lambda: effects.reserve_effect(self.queue, run_id, token, key, effect_type, payload),
            lambda: transitions.reserve_effect(
                self.project, Hold(run_id, token), EffectReservation(effect_type, key, payload)
            ),
            lambda reserved: (reserved[0].status, reserved[1]),
        )

    @rule(slot=SLOTS, which=TOKENS, key=KEYS)
    def start_effect(self, slot: str, which: str, key: str) -> None:
        run_id, token = self.aim(slot, which)
        key = self.known(run_id, "effects", key)
        self.both(
            lambda: effects.start_effect(self.queue, run_id, token, key),
            lambda: transitions.start_effect(self.project, Hold(run_id, token), _effect_id(run_id, key)),
            lambda started: started[1],
        )

    @rule(
        slot=SLOTS,
        key=st.sampled_from(["first", "second"]),
        meanwhile=MEANWHILE,
        outcome=OUTCOMES | st.just(EffectOutcome.REJECTED) | st.none(),
    )
    def try_effect(self, slot: str, key: str, meanwhile: str, outcome: EffectOutcome | None) -> None:
        """What may become of a try, up to some point."""
        self.reserve_effect(slot=slot, which="a holder's", key=key, payload="this")
        self.start_effect(slot=slot, which="the latest", key=key)
        if meanwhile == "parked":
            self.park_ambiguous_effect(slot=slot, which="the latest")
        elif meanwhile == "lost":
            self.doubt_lost_effects(slot=slot, which="the next holder's")
        if outcome is not None:
            which = "the one before" if meanwhile == "lost" else "the latest"
            self.report(slot=slot, which=which, key=key, outcome=outcome, number=0, retry_in_ms=60_000)

    @rule(slot=SLOTS, which=TOKENS, key=KEYS, outcome=OUTCOMES, number=NUMBERS, retry_in_ms=RETRIES)
    def report(
        self, slot: str, which: str, key: str, outcome: EffectOutcome, number: int, retry_in_ms: int | None
    ) -> None:
        run_id, token = self.aim(slot, which)
        (key, number), hold = self._try(run_id, key, number), Hold(run_id, token)
        if self._strands(run_id):
            return
        name, retry_in_ms = _effect_id(run_id, key), retry_in_ms if outcome == EffectOutcome.REJECTED else None
        product = {
            EffectOutcome.APPLIED: lambda: transitions.apply_effect(self.project, hold, name, number, "result"),
            EffectOutcome.REJECTED: lambda: transitions.reject_effect(
                self.project, hold, name, number, "why", retry_in_ms
            ),
            EffectOutcome.AMBIGUOUS: lambda: transitions.doubt_effect(self.project, hold, name, number, "why"),
        }
        self.both(
            lambda: effects.report(self.queue, run_id, token, key, number, outcome, retry_in_ms), product[outcome]
        )

    @rule(slot=SLOTS, key=KEYS, is_applied=st.booleans())
    def settle_ambiguous_effect(self, slot: str, key: str, is_applied: bool) -> None:
        run_id = self.run_ids[slot]
        (key, _), outcome = self._try(run_id, key, 0), _known_outcome(is_applied)
        if self._strands(run_id):
            return
        self.both(
            lambda: effects.settle_ambiguous(self.queue, run_id, key, outcome),
            lambda: transitions.settle_ambiguous_effect(
                self.project, run_id, _effect_id(run_id, key), outcome, OPERATOR, "why"
            ),
        )

    @rule(slot=SLOTS, which=TOKENS, key=KEYS, number=NUMBERS, is_applied=st.booleans())
    def settle_own_try(self, slot: str, which: str, key: str, number: int, is_applied: bool) -> None:
        run_id, token = self.aim(slot, which)
        (key, number), outcome = self._try(run_id, key, number), _known_outcome(is_applied)
        if self._strands(run_id):
            return
        self.both(
            lambda: effects.settle_own_try(self.queue, run_id, key, number, token, outcome),
            lambda: transitions.settle_own_try(self.project, run_id, _effect_id(run_id, key), number, token, outcome),
        )

    @rule(slot=SLOTS, which=TOKENS)
    def doubt_lost_effects(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: effects.doubt_lost(self.queue, run_id, token),
            lambda: transitions.doubt_lost_effects(self.project, Hold(run_id, token)),
            len,
        )

    @rule(slot=SLOTS, which=TOKENS)
    def park_ambiguous_effect(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.park_ambiguous_effect(self.queue, run_id, token),
            lambda: transitions.park_ambiguous_effect(self.project, Hold(run_id, token)),
        )

    @rule(slot=SLOTS, effect_type=st.sampled_from([PARK_EFFECT, SETTLE_EFFECT, "mail"]))
    def settle_effects(self, slot: str, effect_type: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: effects.settle_type(self.queue, run_id, effect_type),
            lambda: transitions.settle_effect(self.project, run_id, effect_type),
            lambda count: count,
        )

    @rule(slot=SLOTS, key=st.sampled_from(["park", "settle", "elsewhere"]))
    def another_part_makes_an_effect(self, slot: str, key: str) -> None:
        """One that no caller may reserve; no verb makes it, so that it has no event of its own."""
        run_id = self.run_ids[slot]
        standing = self.queue.runs.get(run_id)
        if standing is None or standing.is_over or key in standing.effects:
            return
        effect_type, scope = TYPES[key]
        run = Run.objects.select_related("lease").get(project=self.project, run_id=run_id)
        Effect.objects.create(
            run=run,
            effect_id=_effect_id(run_id, key),
            effect_type=effect_type,
            idempotency_key=key,
            owner_scope=scope,
            created_at=self.clock.at,
            updated_at=self.clock.at,
        )
        derive(run)
        standing.effects[key] = dependents.Effect(effect_type, "", scope, revision=0)

    def _strands(self, run_id: str) -> bool:
        """ASSUMPTION, to be removed with its three uses: nobody settles effects of a run that waits for people, too.

        Parked for the effect, it is rightly not offered again then; but its code stays `effectAmbiguous`, with which
        the last decision does not offer it again either: it would wait for nothing.
        """
        run = self.queue.runs.get(run_id)
        return run is not None and run.error_code == ErrorCode.EFFECT_AMBIGUOUS and run.is_undecided

    def _try(self, run_id: str, key: str, relative: int) -> tuple[str, int]:
        """An effect of the run, if it has any, and a number beside that of its latest try."""
        run, key = self.queue.runs.get(run_id), self.known(run_id, "effects", key)
        return key, relative + (len(run.effects[key].tries) if run and run.effects else 1)


def _known_outcome(is_applied: bool) -> EffectOutcome:
    return EffectOutcome.APPLIED if is_applied else EffectOutcome.REJECTED


def _effect_id(run_id: str, key: str) -> str:
    return rules_effects.effect_id(run_id, TYPES[key][0], key)
