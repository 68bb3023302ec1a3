"""The objects that callers get, described for the OpenAPI document. What fills them is shapes.py's part."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from runs.errors import Action
from runs.rules_waiting import WaitCode
from runs.states import (
    ActorType,
    AggregateKind,
    AttemptStatus,
    DisplayStatus,
    ExecutionMode,
    LineageKind,
    OwnerType,
    Priority,
    QueueStatus,
    RunStatus,
)
from runs.states import Wish as WishKind


@extend_schema_field({"description": "Any JSON value."})
class Anything(serializers.Field[Any, Any, Any, Any]):
    pass


@extend_schema_field({"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"})
class Digest(serializers.CharField):
    pass


class LeaseRecord(serializers.Serializer[Any]):
    """Who holds the run; the owner's members are all null while nobody does."""

    generation = serializers.IntegerField(help_text="Rises with every claim, and never falls.")
    owner_type = serializers.ChoiceField([*OwnerType], allow_null=True)
    owner_id = serializers.CharField(allow_null=True)
    acquired_at = serializers.DateTimeField(allow_null=True)
    heartbeat_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)


class Wish(serializers.Serializer[Any]):
    """What an operator wishes of the holder; at its deadline it happens in any case."""

    wish = serializers.ChoiceField([*WishKind])
    due_at = serializers.DateTimeField()
    due_in_ms = serializers.IntegerField()
    reason = serializers.CharField(allow_null=True)


class Lease(serializers.Serializer[Any]):
    """A lease that the caller holds. The durations count from before the request, on the caller's own clock."""

    generation = serializers.IntegerField()
    owner_type = serializers.ChoiceField([*OwnerType])
    owner_id = serializers.CharField()
    acquired_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    lease_ms = serializers.IntegerField()
    lease_remaining_ms = serializers.IntegerField()
    renew_in_ms = serializers.IntegerField()
    wish = Wish(allow_null=True)


class RunBrief(serializers.Serializer[Any]):
    """A run without its documents."""

    run_id = serializers.CharField()
    workflow_name = serializers.CharField()
    workflow_ref = serializers.CharField()
    definition_digest = Digest()
    status = serializers.ChoiceField([*RunStatus], help_text="How execution stands.")
    queue_status = serializers.ChoiceField([*QueueStatus], help_text="How scheduling stands.")
    display_status = serializers.ChoiceField([*DisplayStatus], help_text="Both in one word, for people.")
    paused = serializers.BooleanField()
    status_detail = serializers.CharField(allow_null=True)
    priority = serializers.ChoiceField([priority.name.lower() for priority in Priority])
    error_code = serializers.CharField(allow_null=True)
    error_message = serializers.CharField(allow_null=True)
    origin_session_id = serializers.CharField()
    execution_mode = serializers.ChoiceField([*ExecutionMode])
    parent_run_id = serializers.CharField(allow_null=True)
    root_run_id = serializers.CharField()
    lineage_kind = serializers.ChoiceField([*LineageKind], allow_null=True)
    restart_number = serializers.IntegerField()
    parent_run_revision = serializers.IntegerField(allow_null=True)
    revision = serializers.IntegerField(help_text="The number of the run's events.")
    consecutive_errors = serializers.IntegerField()
    available_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    lease = LeaseRecord()


class Run(RunBrief):
    """A run with its documents."""

    workflow_source = Anything()
    input = Anything()
    launch_options = Anything()
    output = Anything()


class ClaimedRun(Run):
    definition_snapshot = Anything()


class Claim(serializers.Serializer[Any]):
    run = ClaimedRun()
    lease = Lease()


class SlotClaim(Claim):
    slot = serializers.IntegerField(help_text="The place of the token that holds the run among those sent.")


class Claims(serializers.Serializer[Any]):
    claims = SlotClaim(many=True)
    poll_in_ms = serializers.IntegerField(help_text="When to ask again where there was less than asked for.")


class Renewed(serializers.Serializer[Any]):
    lease = Lease()


class WaitingFor(serializers.Serializer[Any]):
    """Why a run waits: a stable code, a sentence for people, and the facts behind it."""

    code = serializers.ChoiceField([*WaitCode])
    sentence = serializers.CharField()
    facts = serializers.DictField()


class RunShown(Run):
    """A run with its documents, and why it waits, if nobody works on it."""

    waiting_for = WaitingFor(allow_null=True)


class Adopted(serializers.Serializer[Any]):
    state = serializers.ChoiceField(["reserved", "adopted"])
    run = RunBrief()


class RunPage(serializers.Serializer[Any]):
    results = RunBrief(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page.")
    limit = serializers.IntegerField()


class Attempt(serializers.Serializer[Any]):
    """One try of one node."""

    attempt_id = serializers.CharField()
    node_id = serializers.CharField()
    node_type = serializers.CharField()
    attempt_number = serializers.IntegerField()
    status = serializers.ChoiceField([*AttemptStatus])
    generation = serializers.IntegerField()
    input = Anything()
    output = Anything()
    error_message = serializers.CharField(allow_null=True)
    progress = Anything()
    timeout_ms = serializers.IntegerField(allow_null=True)
    started_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class AttemptPage(serializers.Serializer[Any]):
    results = Attempt(many=True)
    next = serializers.CharField(allow_null=True)
    limit = serializers.IntegerField()


class LateResult(serializers.Serializer[Any]):
    """What a runner reported as the run's result after it had lost it."""

    verb = serializers.ChoiceField(["complete", "fail"])
    generation = serializers.IntegerField(help_text="The lease generation at the time of the report.")
    result = Anything()
    created_at = serializers.DateTimeField()


class LateResultPage(serializers.Serializer[Any]):
    results = LateResult(many=True)
    next = serializers.CharField(allow_null=True)
    limit = serializers.IntegerField()


class Deleted(serializers.Serializer[Any]):
    run_id = serializers.CharField()
    deleted = serializers.BooleanField()


class Event(serializers.Serializer[Any]):
    """One entry of the journal; `digest` covers it and the one before it on its run."""

    seq = serializers.IntegerField()
    run_id = serializers.CharField()
    kind = serializers.ChoiceField([*AggregateKind])
    key = serializers.CharField()
    revision = serializers.IntegerField()
    type = serializers.CharField()
    actor_type = serializers.ChoiceField([*ActorType])
    actor_id = serializers.CharField(allow_null=True)
    generation = serializers.IntegerField(allow_null=True)
    payload = Anything()
    at = serializers.DateTimeField()
    digest = Digest()


class EventPage(serializers.Serializer[Any]):
    results = Event(many=True)
    next_after = serializers.IntegerField(help_text="What to send as `after` next.")
    limit = serializers.IntegerField()


class FeedPage(serializers.Serializer[Any]):
    results = Event(many=True)
    next = serializers.CharField(help_text="What to send as `cursor` next, now or later.")
    limit = serializers.IntegerField()


class Problem(serializers.Serializer[Any]):
    """Why a request was refused (RFC 9457), with further facts that depend on the code."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    action = serializers.ChoiceField([*Action])


class RunOutcome(serializers.Serializer[Any]):
    """What became of one item: its run, or the problem that stood in its way."""

    run_id = serializers.CharField(allow_null=True)
    ok = serializers.BooleanField()
    run = RunBrief(required=False)
    problem = Problem(required=False)


class RunOutcomes(serializers.Serializer[Any]):
    results = RunOutcome(many=True)


class RenewalOutcome(serializers.Serializer[Any]):
    run_id = serializers.CharField(allow_null=True)
    ok = serializers.BooleanField()
    lease = Lease(required=False)
    problem = Problem(required=False)


class RenewalOutcomes(serializers.Serializer[Any]):
    results = RenewalOutcome(many=True)
