"""Rules of a walk: what runs and sessions say to each other."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.journal import Actor
from runs.states import ActorType, MessageKind, StopReason, SubmissionOutcome
from runs.transitions import Hold, MessageDraft, RequestAsk, Submission
from tests.model import messages, requests
from tests.model.walk import SLOTS, SESSIONS, TOKENS, Walk
from tests.model.walk_work import ATTEMPTS, Attempts

REQUESTS = st.sampled_from(["request-1", "request-2"])
SUBMISSIONS = st.sampled_from(["submission-1", "submission-2"])
MESSAGES = st.sampled_from(["message-1", "message-2"])
TURNS = st.sampled_from(["turn-1", "turn-2"])
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

    @rule(slot=SLOTS, request_id=REQUESTS, session_id=SESSIONS)
    def ask_session(self, slot: str, request_id: str, session_id: str) -> None:
        """The way into everything that becomes of a request."""
        run_id = self.run_ids[slot]
        self.start_attempt(run_id=run_id, which="latest", attempt_id="attempt-1", node_id="node-1", timeout_ms=1_000)
        self.observe(run_id=run_id, which="latest", attempt_id="attempt-1", active_ms=1_000)
        self.raise_request(
            run_id=run_id, which="latest", request_id=request_id, attempt_id="attempt-1", session_id=session_id
        )

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
        run = self.queue.runs.get(run_id)
        revision = run.requests[request_id].revision - behind if run and request_id in run.requests else 1
        submission = Submission(request_id, submission_id, revision, payload)
        self.both(
            lambda: requests.submit(self.queue, run_id, request_id, submission_id, session_id, revision, payload),
            lambda: transitions.submit(self.project, run_id, submission, Actor(ActorType.SESSION, session_id)),
            lambda taken: taken[1],
        )

    @rule(slot=SLOTS, which=TOKENS, request_id=REQUESTS, submission_id=SUBMISSIONS, accepts=st.booleans())
    def settle_submission(self, slot: str, which: str, request_id: str, submission_id: str, accepts: bool) -> None:
        token, outcome = (
            self.token(run_id, which),
            SubmissionOutcome.ACCEPTED if accepts else SubmissionOutcome.REJECTED,
        )
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
        self.both(
            lambda: requests.withdraw_request(self.queue, run_id, token, request_id),
            lambda: transitions.withdraw_request(self.project, Hold(run_id, token), request_id),
        )


class Messages(Walk):
    """A run tells its session."""

    @rule(slot=SLOTS, which=TOKENS, message_id=MESSAGES, kind=st.sampled_from(list(MessageKind)), session_id=SESSIONS)
    def queue_message(self, slot: str, which: str, message_id: str, kind: MessageKind, session_id: str) -> None:
        token, draft = self.token(run_id, which), MessageDraft(message_id, session_id, kind, "words")
        self.both(
            lambda: messages.queue_message(self.queue, run_id, token, message_id, kind, session_id),
            lambda: transitions.queue_message(self.project, Hold(run_id, token), draft),
            lambda queued: (queued[0].status, queued[1]),
        )

    @rule(slot=SLOTS, message_id=MESSAGES)
    def send_message(self, slot: str, message_id: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: messages.send_message(self.queue, run_id, message_id),
            lambda: transitions.send_message(self.project, run_id, message_id, SENDER),
        )

    @rule(slot=SLOTS, message_id=MESSAGES, turn_id=TURNS)
    def open_turn(self, slot: str, message_id: str, turn_id: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: messages.open_turn(self.queue, run_id, message_id, turn_id),
            lambda: transitions.open_turn(self.project, run_id, message_id, turn_id, SENDER),
            lambda opened: opened[1],
        )

    @rule(slot=SLOTS, turn_id=TURNS, reason=st.sampled_from(list(StopReason)))
    def end_turn(self, slot: str, turn_id: str, reason: StopReason) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: messages.end_turn(self.queue, run_id, turn_id, reason),
            lambda: transitions.end_turn(self.project, run_id, turn_id, reason, SENDER),
        )
