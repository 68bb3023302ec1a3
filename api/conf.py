"""Settings of the libraries that carry the REST wire; workflowq.settings takes them in. Imports nothing of Django's."""

from typing import Any

from runs.states import (
    AnswerOutcome,
    AttemptStatus,
    DecisionOutcome,
    DecisionProvenance,
    DisplayStatus,
    EffectStatus,
    ExecutionMode,
    LineageKind,
    MessageKind,
    MessageStatus,
    QueueStatus,
    RequestStatus,
    RunStatus,
    SubmissionOutcome,
)

_NAMED = (
    *(RunStatus, QueueStatus, DisplayStatus, AttemptStatus, EffectStatus, ExecutionMode, LineageKind),
    *(RequestStatus, SubmissionOutcome, MessageKind, MessageStatus),
    *(DecisionOutcome, DecisionProvenance, AnswerOutcome),
)

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["api.auth.BearerToken"],
    # Closed unless a view says otherwise.
    "DEFAULT_PERMISSION_CLASSES": ["api.auth.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["api.parsers.JSONBody"],
    "DEFAULT_RENDERER_CLASSES": ["api.renderers.JSONAnswer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "api.renderers.OneForm",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "api.schema.Described",
    "EXCEPTION_HANDLER": "api.problems.answer_to",
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "workflowq",
    "DESCRIPTION": (
        "A durable queue for long workflow runs. Every refusal is a problem document (RFC 9457) with a stable `code` "
        "and an `action`: `stop` (give the run up), `retry` (send the same again after `Retry-After`) or `mend` "
        "(change the request). Times are UTC with milliseconds. Unknown members and parameters are refused."
    ),
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    # Both tell of the API and of nothing in it.
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"displayOperationId": True, "persistAuthorization": False},
    "TAGS": [
        {"name": "clients", "description": "Reserve runs, look at them, cancel them."},
        {"name": "runners", "description": "Claim runs and hold them until they are over."},
        {"name": "attempts", "description": "Durable steps of a run that is held."},
        {"name": "batches", "description": "The runners' verbs for many runs at once, with an outcome for each."},
        {"name": "effects", "description": "What a run does outside, and the settling of what is in doubt."},
        {"name": "interaction", "description": "What a run asks of its session, and the messages that it sends there."},
        {"name": "decisions", "description": "What a run leaves to people, and their answers."},
        {"name": "events", "description": "The journal of a run, and of the whole project."},
    ],
    "ENUM_NAME_OVERRIDES": {
        "DecisionStatus": ["open", "resolved"],
        **{kind.__name__: [member.value for member in kind] for kind in _NAMED},
    },
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "api.schema.closed", "api.schema.coded"],
}
