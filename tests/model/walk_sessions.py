"""Rules of a walk: what runs and sessions say to each other."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.journal import Actor
from runs.states import ActorType, MessageKind, StopReason, SubmissionOutcome
from runs.transitions import Hold, MessageDraft, RequestAsk, Submission
from tests.model import control, messages, requests
from tests.model.claiming import Claimant
from tests.model.walk import SESSIONS, SLOTS
from tests.model.walk_leases import TOKENS, Leases
from tests.model.walk_work import ATTEMPTS, Attempts

STAGES = ["raised", "parked", "submitted", "claimed", "settled", "timed out"]
REQUESTS = st.sampled_from(["request-1", "request-2", "request-3"])
SUBMISSIONS = st.sampled_from(["submission-1", "submission-2", "submission-3"])
MESSAGES = st.sampled_from(["message-1", "message-2", "message-3"])
TURNS = st.sampled_from(["turn-1", "turn-2"])
VALIDATOR = Claimant("host-validator", 30_000)
SENDER = Actor(ActorType.SESSION, "session-a")


class Requests(Attempts):
    """A run asks its session."""

    @rule(slot=SLOTS, which=TOKENS, request_id=REQUESTS, attempt_id=ATTEMPTS, session_id=SESSIONS)
    def raise_request(self, slot: str, which: str, request_id: str, attempt_id: str, session_id: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: requests.raise_request(self.queue, run_id, token, request_id, attempt_id, session_id),
            lambda: transitions.raise_request(
                self.project, Hold(run_id, token), RequestAsk(request_id, attempt_id, session_id)
            ),
            lambda raised: (raised[0].status, raised[1]),
        )

    @rule(slot=SLOTS, request_id=REQUESTS, attempt_id=ATTEMPTS, until=st.sampled_from(["settled", *STAGES]))
    def converse(self, slot: str, request_id: str, attempt_id: str, until: str) -> None:
        """A request and its answer, up to some stage."""
        self.start_attempt(slot=slot, which="a holder's", attempt_id=attempt_id, node_id=attempt_id, timeout_ms=1_000)
        self.observe(slot=slot, which="the latest", attempt_id=attempt_id, active_ms=1_000)
        self.raise_request(
            slot=slot, which="the latest", request_id=request_id, attempt_id=attempt_id, session_id="session-a"
        )
        if until != "raised":
            self.park(slot=slot, which="the latest", code=None)
        if until == "timed out":
            self.begin_interaction_timeout(slot=slot, which="the latest", session_id="session-a", from_control=True)
        answer = {"request_id": request_id, "submission_id": "submission-1"}
        if until in ("submitted", "claimed", "settled"):
            self.submit(slot=slot, **answer, session_id="session-a", behind=0, payload="this")
        if until in ("claimed", "settled"):
            self.claim(slot=slot, claimant=VALIDATOR, purpose="for validation")
        if until == "settled":
            self.settle_submission(slot=slot, which="the latest", **answer, accepts=True)

    @rule(
        slot=SLOTS,
        request_id=REQUESTS,
        submission_id=SUBMISSIONS,
        session_id=SESSIONS,
        behind=st.sampled_from([0, 0, 0, 1]),
        payload=st.sampled_from(["this", "this", "that"]),
    )
    def submit(
        self, slot: str, request_id: str, submission_id: str, session_id: str, behind: int, payload: str
    ) -> None:
        run_id = self.run_ids[slot]
        run, request_id = self.queue.runs.get(run_id), self.known(run_id, "requests", request_id)
        revision = run.requests[request_id].revision - behind if run and run.requests else 1
        submission = Submission(request_id, submission_id, revision, payload)
        self.both(
            lambda: requests.submit(self.queue, run_id, request_id, submission_id, session_id, revision, payload),
            lambda: transitions.submit(self.project, run_id, submission, Actor(ActorType.SESSION, session_id)),
            lambda taken: taken[1],
        )

    @rule(slot=SLOTS, which=TOKENS, request_id=REQUESTS, submission_id=SUBMISSIONS, accepts=st.booleans())
    def settle_submission(self, slot: str, which: str, request_id: str, submission_id: str, accepts: bool) -> None:
        run_id, token = self.aim(slot, which)
        request_id = self.known(run_id, "requests", request_id)
        run = self.queue.runs.get(run_id)
        if run and run.requests and submission_id not in run.requests[request_id].submissions:
            submission_id = next(reversed(run.requests[request_id].submissions), submission_id)
        outcome = SubmissionOutcome.ACCEPTED if accepts else SubmissionOutcome.REJECTED
        self.both(
            lambda: requests.settle_submission(self.queue, run_id, token, request_id, submission_id, outcome),
            lambda: (
                transitions.accept_submission(self.project, Hold(run_id, token), request_id, submission_id)
                if accepts
                else transitions.reject_submission(self.project, Hold(run_id, token), request_id, submission_id, "why")
            ),
        )

    @rule(slot=SLOTS, which=TOKENS, request_id=REQUESTS)
    def withdraw_request(self, slot: str, which: str, request_id: str) -> None:
        run_id, token = self.aim(slot, which)
        request_id = self.known(run_id, "requests", request_id)
        self.both(
            lambda: requests.withdraw_request(self.queue, run_id, token, request_id),
            lambda: transitions.withdraw_request(self.project, Hold(run_id, token), request_id),
        )

    @rule(slot=SLOTS, pauses=st.booleans())
    def interrupt_interaction(self, slot: str, pauses: bool) -> None:
        """A parked run that waits for its session is paused, or waits again."""
        run_id = self.run_ids[slot]
        if pauses:
            self.both(
                lambda: control.pause_parked(self.queue, run_id),
                lambda: transitions.pause_parked(self.project, run_id),
            )
        else:
            self.both(
                lambda: control.resume_interaction(self.queue, run_id),
                lambda: transitions.resume_interaction(self.project, run_id),
            )

    @rule(slot=SLOTS, which=TOKENS, session_id=SESSIONS, from_control=st.sampled_from([True, True, False]))
    def begin_interaction_timeout(self, slot: str, which: str, session_id: str, from_control: bool) -> None:
        if from_control:
            self.claim(slot=slot, claimant=VALIDATOR, purpose="for control")
            which = "the latest"
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: control.begin_interaction_timeout(self.queue, run_id, token, session_id),
            lambda: transitions.begin_interaction_timeout(self.project, Hold(run_id, token), session_id),
        )


class Messages(Leases):
    """A run tells its session."""

    @rule(slot=SLOTS, which=TOKENS, message_id=MESSAGES, kind=st.sampled_from(list(MessageKind)), session_id=SESSIONS)
    def queue_message(self, slot: str, which: str, message_id: str, kind: MessageKind, session_id: str) -> None:
        (run_id, token), draft = self.aim(slot, which), MessageDraft(message_id, session_id, kind, "words")
        self.both(
            lambda: messages.queue_message(self.queue, run_id, token, message_id, kind, session_id),
            lambda: transitions.queue_message(self.project, Hold(run_id, token), draft),
            lambda queued: (queued[0].status, queued[1]),
        )

    @rule(slot=SLOTS, message_id=MESSAGES)
    def send_message(self, slot: str, message_id: str) -> None:
        run_id = self.run_ids[slot]
        message_id = self.known(run_id, "messages", message_id)
        self.both(
            lambda: messages.send_message(self.queue, run_id, message_id),
            lambda: transitions.send_message(self.project, run_id, message_id, SENDER),
        )

    @rule(slot=SLOTS, message_id=MESSAGES, turn_id=TURNS)
    def open_turn(self, slot: str, message_id: str, turn_id: str) -> None:
        run_id = self.run_ids[slot]
        message_id = self.known(run_id, "messages", message_id)
        self.both(
            lambda: messages.open_turn(self.queue, run_id, message_id, turn_id),
            lambda: transitions.open_turn(self.project, run_id, message_id, turn_id, SENDER),
            lambda opened: opened[1],
        )

    @rule(slot=SLOTS, turn_id=TURNS, reason=st.sampled_from(list(StopReason)))
    def end_turn(self, slot: str, turn_id: str, reason: StopReason) -> None:
        run_id = self.run_ids[slot]
        turn_id = self.known(run_id, "turns", turn_id)
        self.both(
            lambda: messages.end_turn(self.queue, run_id, turn_id, reason),
            lambda: transitions.end_turn(self.project, run_id, turn_id, reason, SENDER),
        )

    @rule(slot=SLOTS, message_id=MESSAGES, kind=st.sampled_from(list(MessageKind)), parts=st.integers(2, 4))
    def tell(self, slot: str, message_id: str, kind: MessageKind, parts: int) -> None:
        """A message and the turn that it takes, up to some point."""
        self.queue_message(slot=slot, which="a holder's", message_id=message_id, kind=kind, session_id="session-a")
        self.send_message(slot=slot, message_id=message_id)
        if parts > 2:
            self.open_turn(slot=slot, message_id=message_id, turn_id="turn-1")
        if parts > 3:
            self.end_turn(slot=slot, turn_id="turn-1", reason=StopReason.COMPLETED)
