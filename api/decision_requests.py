"""The bodies of the verbs in decisions.py."""

from datetime import UTC, datetime
from typing import Any, Final

from django.utils.dateparse import parse_datetime
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.fields import Document, Flag, Formed, Id, Name, ObjectDocument, Several, Shape, Text, Whole
from api.requests import ATTEMPT_ID, HoldRequest
from runs.rules_decisions import (
    CHANNEL_LIMIT,
    CHOICE_LIMIT,
    INPUT_BYTES,
    PEOPLE_LIMIT,
    QUORUM_LIMIT,
    REASON_LIMIT,
    SUBJECT_LIMIT,
    TITLE_LIMIT,
)

PRESENTATION_BYTES: Final = 262_144


@extend_schema_field({"type": "string", "format": "date-time"})
class Moment(serializers.Field[Any, Any, Any, Any]):
    """A time with its offset, by RFC 3339."""

    default_error_messages = {
        "invalid": "This must be a time with its offset, such as 2026-12-01T03:00:00Z.",
        "null": "This must not be null.",
        "required": "This is required.",
    }

    def to_internal_value(self, data: object) -> datetime:
        try:
            at = parse_datetime(data) if isinstance(data, str) and "T" in data else None
            at = at.astimezone(UTC) if at is not None and at.tzinfo is not None else None
        except (ValueError, OverflowError):
            at = None
        if at is None:
            self.fail("invalid")
        return at


class AmendRequest(HoldRequest):
    """What people are to decide, all of it: what is left out is not shown."""

    title = Text(most=TITLE_LIMIT)
    subject = Text(most=SUBJECT_LIMIT, allow_blank=True, required=False, default="")
    presentation = Document(
        most_bytes=PRESENTATION_BYTES,
        required=False,
        default=None,
        help_text="What is shown beside the words; any JSON that the one who shows it understands.",
    )
    choices = Several(
        ObjectDocument(),
        least=1,
        most=CHOICE_LIMIT,
        help_text=(
            "Objects of `id` and `label`. With `input_schema` (JSON Schema 2020-12 without references and patterns) a "
            "choice takes an input; an `editable` one may take another than its `proposed_input`."
        ),
    )
    users = Several(Name(), most=PEOPLE_LIMIT, required=False, default=list, help_text="Who may answer, by name.")
    groups = Several(
        Name(),
        most=PEOPLE_LIMIT,
        required=False,
        default=list,
        help_text="Whose members may answer. Without users and groups anybody with the scope may.",
    )
    quorum = Whole(
        low=1, high=QUORUM_LIMIT, required=False, default=1, help_text="How many people must answer the same."
    )
    requested_by = Name(
        required=False, allow_null=True, default=None, help_text="The user on whose behalf it is asked."
    )
    forbid_requester = Flag(required=False, default=False, help_text="Whether `requested_by` may not answer.")
    deadline_at = Moment(required=False, allow_null=True, default=None)
    default_response = ObjectDocument(
        required=False,
        default=None,
        help_text='What the deadline resolves it with: {"choice", "input"}. Without one it expires.',
    )


class AskRequest(AmendRequest):
    decision_id = Formed(ATTEMPT_ID, help_text="Chosen by the caller, unique in the run.")
    attempt_id = Formed(
        ATTEMPT_ID, required=False, allow_null=True, default=None, help_text="The open attempt that waits, if one does."
    )


class AnswerRequest(Shape):
    """A person's answer to what that person was shown."""

    choice = Name()
    request_digest = Id(help_text="The digest of the decision as it was shown.")
    input = Document(most_bytes=INPUT_BYTES, required=False, default=None)
    reason = Text(most=REASON_LIMIT, allow_blank=True, required=False, allow_null=True, default=None)
    channel = Name(most=CHANNEL_LIMIT, required=False, default="api", help_text="Where the person answered.")
