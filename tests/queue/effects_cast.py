"""Effects in any state, made by the verbs wherever one leads there, and the calls that tests make about them."""

from dataclasses import dataclass

from runs import transitions
from runs.models import Effect, EffectAttempt, Event, Project
from runs.states import EffectStatus
from runs.transitions import EffectReservation
from tests.builders import LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, derive

MAIL = "mail.send"
RETRY_MS = 60_000


@dataclass(frozen=True, slots=True)
class Tried:
    """An effect, the run as its present holder has it, and the run as who made the latest try had it."""

    made: Made
    effect_id: str
    number: int
    tried_by: Made

    @property
    def project(self) -> Project:
        return self.made.project

    @property
    def effect(self) -> Effect:
        return Effect.objects.with_documents().get(run=self.made.run, effect_id=self.effect_id)

    @property
    def tries(self) -> list[EffectAttempt]:
        return list(EffectAttempt.objects.filter(effect=self.effect).order_by("number"))

    @property
    def events(self) -> list[Event]:
        return list(Event.objects.filter(run=self.made.run, kind="effect", key=self.effect_id).in_sequence())

    @property
    def reservation(self) -> EffectReservation:
        """The one that made the effect."""
        return mail(self.effect.idempotency_key)


def mail(key: str, payload: object = "hello") -> EffectReservation:
    """A message to send."""
    return EffectReservation(MAIL, key, {"text": payload})


@dataclass(slots=True)
class EffectBuilder:
    """Makes effects of one running run after another."""

    make: RunBuilder
    clock: FrozenClock
    count: int = 0

    def pending(self, made: Made | None = None) -> Tried:
        """Reserved, and due."""
        self.count += 1
        made = made or self.make.running()
        effect, _ = transitions.reserve_effect(made.project, made.hold, mail(f"order-{self.count}"))
        return Tried(made, effect.effect_id, 0, made)

    def applying(self, made: Made | None = None) -> Tried:
        """In its first try, under the present holder."""
        return self.started(self.pending(made))

    def started(self, tried: Tried) -> Tried:
        """In its next try."""
        _, number = transitions.start_effect(tried.project, tried.made.hold, tried.effect_id)
        assert number is not None
        return Tried(tried.made, tried.effect_id, number, tried.made)

    def waiting(self, made: Made | None = None) -> Tried:
        """Pending, its retry not due yet."""
        tried = self.applying(made)
        transitions.reject_effect(tried.project, tried.made.hold, tried.effect_id, 1, "Come back later.", RETRY_MS)
        return tried

    def lost(self, made: Made | None = None) -> Tried:
        """Applying under a holder that another one has followed."""
        tried = self.applying(made)
        return Tried(self.taken_over(tried.made), tried.effect_id, tried.number, tried.made)

    def taken_over(self, made: Made) -> Made:
        """The same run, running under another runner after its lease ran out."""
        self.clock.advance(LEASE_MS)
        made = self.make.claimed(made, "host-b")
        transitions.mark_running(made.project, made.hold)
        return made

    def applied(self, made: Made | None = None) -> Tried:
        tried = self.applying(made)
        transitions.apply_effect(tried.project, tried.made.hold, tried.effect_id, 1, {"id": 7})
        return tried

    def rejected(self, made: Made | None = None) -> Tried:
        tried = self.applying(made)
        transitions.reject_effect(tried.project, tried.made.hold, tried.effect_id, 1, "No such address.")
        return tried

    def ambiguous(self, made: Made | None = None) -> Tried:
        """In doubt, as its own runner says."""
        tried = self.applying(made)
        transitions.doubt_effect(tried.project, tried.made.hold, tried.effect_id, 1, "The line went dead.")
        return tried

    def cancelled(self, made: Made | None = None) -> Tried:
        """As no verb leaves it while its run is held."""
        tried = self.pending(made)
        at = self.clock.at
        Effect.objects.filter(pk=tried.effect.pk).update(status=EffectStatus.CANCELLED, settled_at=at)
        derive(tried.made.run)
        return tried

    def parked(self, tried: Tried | None = None) -> Tried:
        """Ambiguous, and its run parked for it."""
        tried = tried or self.ambiguous()
        transitions.park_ambiguous_effect(tried.project, tried.made.hold)
        return tried

    def cancelled_in_flight(self) -> Tried:
        """Ambiguous, since its run was cancelled during its try."""
        tried = self.applying()
        transitions.cancel(tried.project, tried.made.run_id, OPERATOR)
        return tried
