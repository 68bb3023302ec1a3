"""What runners do: claim runs, renew their leases, and say how each run goes on. One method a verb."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, ClassVar, Final

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from api import answers, examples, requests, shapes
from api.endpoint import Endpoint
from api.outcomes import merged, outcome
from api.requests import ClaimPurpose
from api.schema import described
from runs import clock, errors, models, reading, transitions
from runs.states import ErrorCode, Scope
from runs.transitions import Beat, Claimant, Completion, Failure, Hold, Observation

POLL_IN_MS: Final = 1_000
CLAIM_NEXT = requests.ClaimNextRequest()
CLAIM = requests.ClaimRequest()
RENEW_ALL = requests.RenewAllRequest()
RENEW = requests.RenewRequest()
HOLD = requests.HoldRequest()
COMPLETE = requests.CompleteRequest()
FAIL = requests.FailRequest()
PARK = requests.ParkRequest()
LOST: Final = (errors.LeaseLost, errors.RunCancelled, errors.RunFinished, errors.RunPaused)

_CLAIMS: Final = {
    ClaimPurpose.WORK: transitions.claim,
    ClaimPurpose.VALIDATION: transitions.claim_for_validation,
    ClaimPurpose.CONTROL: transitions.claim_for_control,
}
_EXECUTE: Final[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}


def lease_ms(asked: Mapping[str, Any]) -> int:
    """How long a lease is to last."""
    wanted: int = asked.get("lease_ms", settings.WORKFLOWQ["LEASE_MS_DEFAULT"])
    return wanted


def beat(run_id: str, asked: Mapping[str, Any]) -> Beat:
    """A renewal with what it observes of an attempt, if it names one."""
    attempt_id = asked.get("attempt_id")
    observation = Observation(attempt_id, asked["progress"], asked["active_ms"]) if attempt_id else None
    return Beat(run_id, asked["token"], observation)


@contextmanager
def evidence(project: models.Project, report: Completion | Failure) -> Iterator[None]:
    """Keep the result of a runner that is refused because it has lost the run, and refuse it all the same."""
    try:
        yield
    except LOST:
        transitions.keep_late_result(project, report)
        raise
    except errors.OpenWork:
        # An effect that a lost runner left applying is why, perhaps: from now on a person sees that it is in doubt.
        with suppress(errors.Refusal):
            transitions.doubt_lost_effects(project, Hold(report.run_id, report.token))
        raise


class Claims(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE
    keyed = False

    @described(
        "runners", "claim_next", takes=requests.ClaimNextRequest, gives=answers.Claims, examples=examples.CLAIM_NEXT
    )
    def post(self, request: Request) -> Response:
        """Claim up to as many runs as there are tokens. The same tokens again bring the same live claims again."""
        asked = self.asked(CLAIM_NEXT)
        transitions.own(self.token, asked["owner_id"])
        transitions.note_demand(self.project, asked["workflows"])
        try:
            at, standing, fresh = self._all_claimed(asked)
        except errors.TokenInUse:
            # The same request, at the same moment: it has taken the runs, and they are this one's answer.
            at, standing, fresh = self._all_claimed(asked)
        return Response(
            {
                "claims": [
                    {"slot": slot, **(fresh.get(token) or shapes.claimed(standing[token], standing[token].lease, at))}
                    for slot, token in enumerate(asked["tokens"])
                    if token in fresh or token in standing
                ],
                "poll_in_ms": POLL_IN_MS,
            }
        )

    def _all_claimed(
        self, asked: Mapping[str, Any]
    ) -> tuple[datetime, dict[str, models.Run], dict[str, shapes.Answer]]:
        """The time, and by token the claims that stood at it and new ones."""
        at = clock.now()
        standing = reading.held_with(self.project, asked["owner_id"], asked["tokens"], at)
        return at, standing, self._claimed(asked, [token for token in asked["tokens"] if token not in standing])

    def _claimed(self, asked: Mapping[str, Any], tokens: list[str]) -> dict[str, shapes.Answer]:
        """New claims by token."""
        if not tokens:
            return {}
        runs = transitions.claim_next(
            self.project,
            Claimant(asked["owner_id"], lease_ms(asked), asked["reclaim"]),
            tokens,
            workflows=asked["workflows"],
            exclude=asked["exclude_run_ids"],
            once=True,
        )
        shown = zip(runs, reading.with_documents(runs), strict=True)
        # Run n is held by token n.
        return {token: shapes.claimed(full, run.lease) for token, (run, full) in zip(tokens, shown, strict=False)}


class Claim(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE
    keyed = False

    @described("runners", "claim", takes=requests.ClaimRequest, gives=answers.Claim)
    def post(self, request: Request, run_id: str) -> Response:
        """Claim one run. The same token again brings the same live claim again."""
        asked = self.asked(CLAIM)
        if asked["purpose"] == ClaimPurpose.CONTROL:
            self.need(Scope.RUNS_CONTROL)
        transitions.own(self.token, asked["owner_id"])
        if (standing := self._standing(run_id, asked)) is not None:
            return Response(standing)
        claimant = Claimant(asked["owner_id"], lease_ms(asked), asked["reclaim"])
        try:
            run = _CLAIMS[asked["purpose"]](self.project, run_id, claimant, asked["token"])
        except errors.LeaseHeld:
            # By this very claim, perhaps, sent twice at the same moment.
            if (standing := self._standing(run_id, asked)) is None:
                raise
            return Response(standing)
        (full,) = reading.with_documents([run])
        return Response(shapes.claimed(full, run.lease))

    def _standing(self, run_id: str, asked: Mapping[str, Any]) -> shapes.Answer | None:
        """The answer of a claim that was made before with the same token."""
        at = clock.now()
        if reading.is_held(self.project, run_id, asked["token"], at):
            run = reading.run(self.project, run_id)
            if run.lease.owner_id == asked["owner_id"] and run.lease.is_live(at):
                return shapes.claimed(run, run.lease, at)
        return None


class Renewals(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE
    keyed = False

    @described("runners", "renew_all", takes=requests.RenewAllRequest, gives=answers.RenewalOutcomes)
    def post(self, request: Request) -> Response:
        """Renew many leases, with an outcome for each in the order asked."""
        asked = self.asked(RENEW_ALL)
        results = merged(
            asked["leases"],
            lambda items: [
                outcome(item["run_id"], renewal, lambda lease: {"lease": shapes.held(lease)})
                for item, renewal in zip(items, self._renewed(items, lease_ms(asked)), strict=True)
            ],
        )
        return Response({"results": results})

    def _renewed(self, items: list[dict[str, Any]], ms: int) -> list[Any]:
        return transitions.renew_all(self.project, [beat(item["run_id"], item) for item in items], ms)


class Renew(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE
    keyed = False

    @described("runners", "renew", takes=requests.RenewRequest, gives=answers.Renewed)
    def post(self, request: Request, run_id: str) -> Response:
        """Move the end of a held lease to `lease_ms` from now."""
        asked = self.asked(RENEW)
        lease = transitions.renew(self.project, beat(run_id, asked), lease_ms(asked))
        return Response({"lease": shapes.held(lease)})


class Running(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("runners", "mark_running", takes=requests.HoldRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """Say that the workflow runs."""
        hold = Hold(run_id, self.asked(HOLD)["token"])
        return self.once(lambda: (200, shapes.brief(transitions.mark_running(self.project, hold))))


class Park(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("runners", "park", takes=requests.ParkRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """Hand a run back: it is offered again at once, or, with a code, not before somebody asks for that."""
        asked = self.asked(PARK)
        hold = Hold(run_id, asked["token"])
        return self.once(lambda: (200, shapes.brief(self._parked(hold, asked.get("code"), asked["detail"]))))

    def _parked(self, hold: Hold, code: str | None, detail: str) -> models.Run:
        if code == ErrorCode.RUNNER_NO_PROGRESS:
            return transitions.park_no_progress(self.project, hold, detail)
        if code == ErrorCode.WORKFLOW_SOURCE_CHANGED:
            return transitions.park_source_changed(self.project, hold, detail)
        if code == ErrorCode.EFFECT_AMBIGUOUS:
            return transitions.park_ambiguous_effect(self.project, hold)
        return transitions.park(self.project, hold)


class Complete(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("runners", "complete", takes=requests.CompleteRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """End a run well, with its output."""
        completion = Completion(run_id, **self.asked(COMPLETE))
        with evidence(self.project, completion):
            return self.once(lambda: (200, shapes.brief(transitions.complete(self.project, completion))))


class Fail(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": None}

    @described("runners", "fail", takes=requests.FailRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """End a run as failed.

        With a lease token as its holder (scope `runs:execute`), else where nobody has begun it (`runs:control`).
        """
        asked = self.asked(FAIL)
        self.need(Scope.RUNS_EXECUTE if "token" in asked else Scope.RUNS_CONTROL)
        failure = Failure(run_id, **asked)
        with evidence(self.project, failure):
            return self.once(lambda: (200, shapes.brief(transitions.fail(self.project, failure))))
