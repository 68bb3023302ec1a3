"""Pure rules for decisions of people: what may be asked, what is shown, and whose answer counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from runs import canonical, errors, rules_schemas
from runs.rules import RunFacts
from runs.rules_sessions import identifier, text
from runs.states import HELD_BACK_CODES, ErrorCode, QueueStatus, RunStatus

DECISION_LIMIT: Final = 1_000  # in a run
ANSWER_LIMIT: Final = 1_000  # to a decision, late and void ones included
CHOICE_LIMIT: Final = 20
PEOPLE_LIMIT: Final = 100  # users, and groups, that a decision names
QUORUM_LIMIT: Final = 100
TITLE_LIMIT: Final = 500  # characters
SUBJECT_LIMIT: Final = 8_192
REASON_LIMIT: Final = 8_192
CHANNEL_LIMIT: Final = 100
INPUT_BYTES: Final = 65_536  # of canonical JSON
_CHOICE_MEMBERS: Final = frozenset({"id", "label", "input_schema", "editable", "proposed_input"})
_RESPONSE_MEMBERS: Final = frozenset({"choice", "input"})

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DecisionAsk:
    """What people are to decide.

    `choices` are objects of an `id` and a `label`; with an `input_schema` a choice takes an input, and an `editable`
    one may take another than its `proposed_input`. Without users and groups anybody may answer. At the deadline the
    decision is resolved with the `default_response` ({choice, input}), or expires where there is none.
    """

    decision_id: str
    title: str
    choices: Sequence[Mapping[str, Any]]
    subject: str = ""
    presentation: Any = None
    users: Sequence[str] = ()
    groups: Sequence[str] = ()
    quorum: int = 1
    forbid_requester: bool = False
    requested_by: str | None = None
    deadline_at: datetime | None = None
    default_response: Mapping[str, Any] | None = None
    attempt_id: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whose account was verified: its key, its name and its groups."""

    id: str
    username: str
    groups: frozenset[str] = frozenset()


def check(ask: DecisionAsk) -> DecisionAsk:
    """The ask with its default response made whole. Refuses what can't be decided or shown."""
    identifier(ask.decision_id, "decision_id")
    identifier(ask.title, "title", TITLE_LIMIT)
    text(ask.subject, "subject", SUBJECT_LIMIT)
    _check_people(ask)
    _check_choices(ask.choices)
    if ask.default_response is None:
        return ask
    return replace(ask, default_response=_default(ask, ask.default_response))


def in_time(ask: DecisionAsk, at: datetime) -> None:
    """Refuse a deadline that nobody could meet."""
    if is_due(ask.deadline_at, at):
        raise errors.InvalidDecision("The deadline has passed.", place="/deadline_at")


def shown(ask: DecisionAsk, run_id: str, revision: int) -> Document:
    """The document of all that is shown, whose digest an answer names. The revision makes each digest a new one."""
    return {
        "run_id": run_id,
        "decision_id": ask.decision_id,
        "revision": revision,
        "title": ask.title,
        "subject": ask.subject,
        "presentation": ask.presentation,
        "audience": {"users": sorted(set(ask.users)), "groups": sorted(set(ask.groups))},
        "choices": [{"editable": False, **choice} for choice in ask.choices],
        "quorum": ask.quorum,
        "forbid_requester": ask.forbid_requester,
        "requested_by": ask.requested_by,
        "deadline_at": _moment(ask.deadline_at),
        "default_response": ask.default_response,
    }


def asks_the_same(left: Document, right: Document) -> bool:
    """Whether two shown documents differ in nothing but the revision and the deadline."""
    return canonical.equal(_content(left), _content(right))


def _content(document: Document) -> Document:
    return {name: member for name, member in document.items() if name not in ("revision", "deadline_at")}


def is_due(deadline_at: datetime | None, at: datetime) -> bool:
    """Whether the deadline has passed; at the deadline itself it has."""
    return deadline_at is not None and deadline_at <= at


def may_answer(document: Document, person: Person) -> None:
    """Refuse somebody outside of the audience, and the requester where that is forbidden."""
    audience = document["audience"]
    addressed = person.username in audience["users"] or not person.groups.isdisjoint(audience["groups"])
    if (audience["users"] or audience["groups"]) and not addressed:
        raise errors.NotInAudience(decision_id=document["decision_id"])
    requester = document["requested_by"]
    # Names that differ in case alone are taken for the same person here: whoever asked must not pass by a spelling.
    if document["forbid_requester"] and person.username.casefold() == requester.casefold():
        raise errors.OwnRequest(decision_id=document["decision_id"])


def entered(choices: Sequence[Mapping[str, Any]], choice_id: str, given: Any) -> Any:
    """The input that is meant: where an editable choice was taken without one, what it proposes."""
    if given is not None:
        return given
    proposed = (choice.get("proposed_input") for choice in choices if choice["id"] == choice_id)
    return next(proposed, None)


def response(choices: Sequence[Mapping[str, Any]], choice_id: str, given: Any) -> Document:
    """The response that this choice with this input makes. Refuses an unknown choice and an input it does not take."""
    choice = next((choice for choice in choices if choice["id"] == choice_id), None)
    if choice is None:
        raise errors.UnknownChoice(choices=[choice["id"] for choice in choices])
    has_schema, given = "input_schema" in choice, entered(choices, choice_id, given)
    if given is not None and not (choice.get("editable", False) or has_schema):
        raise errors.InvalidInput("This choice takes no input.", choice=choice_id)
    if has_schema and (faults := rules_schemas.faults(choice["input_schema"], given)):
        raise errors.InvalidInput(choice=choice_id, faults=faults)
    return {"choice": choice_id, "input": given}


def goes_on(run: RunFacts, pending_requests: int, undecided: int) -> bool:
    """Whether a run whose decision was resolved is to be handed out again: parked, and waiting for nothing else."""
    return (
        run.queue_status == QueueStatus.PARKED
        and run.status == RunStatus.WAITING
        and run.error_code not in HELD_BACK_CODES | {ErrorCode.EFFECT_AMBIGUOUS}
        and not pending_requests
        and not undecided
    )


def _check_people(ask: DecisionAsk) -> None:
    for names, what in ((ask.users, "users"), (ask.groups, "groups")):
        if len(names) > PEOPLE_LIMIT:
            raise errors.InvalidDecision(f"A decision names at most {PEOPLE_LIMIT} {what}.", place=f"/{what}")
        for name in names:
            identifier(name, what)
    if ask.requested_by is not None:
        identifier(ask.requested_by, "requested_by")
    elif ask.forbid_requester:
        raise errors.InvalidDecision("Who asked must be named to be kept from answering.", place="/requested_by")
    if not 1 <= ask.quorum <= QUORUM_LIMIT:
        raise errors.InvalidDecision(f"A quorum is 1 to {QUORUM_LIMIT}.", place="/quorum")
    if ask.users and not ask.groups and ask.quorum > len(set(ask.users)):
        raise errors.InvalidDecision("The quorum is larger than the audience.", place="/quorum")


def _check_choices(choices: Sequence[object]) -> None:
    if not 1 <= len(choices) <= CHOICE_LIMIT:
        raise errors.InvalidDecision(f"A decision has 1 to {CHOICE_LIMIT} choices.", place="/choices")
    ids = []
    for number, choice in enumerate(choices):
        place = f"/choices/{number}"
        if not isinstance(choice, Mapping) or not choice.keys() <= _CHOICE_MEMBERS:
            raise errors.InvalidDecision("A choice is an object of known members.", place=place)
        for member, limit in (("id", 200), ("label", TITLE_LIMIT)):
            if not isinstance(choice.get(member), str):
                raise errors.InvalidDecision("A choice has an id and a label, both text.", place=f"{place}/{member}")
            identifier(choice[member], f"choices/{number}/{member}", limit)
        if not isinstance(choice.get("editable", False), bool):
            raise errors.InvalidDecision("editable is true or false.", place=f"{place}/editable")
        _check_input(choice, place)
        ids.append(choice["id"])
    if len(set(ids)) < len(ids):
        raise errors.InvalidDecision("Two choices have the same id.", place="/choices")


def _check_input(choice: Mapping[str, Any], place: str) -> None:
    if "input_schema" in choice:
        rules_schemas.check(choice["input_schema"], f"{place}/input_schema")
    if "proposed_input" not in choice:
        return
    if not choice.get("editable", False):
        raise errors.InvalidDecision("Only an editable choice proposes an input.", place=f"{place}/proposed_input")
    if "input_schema" in choice and rules_schemas.faults(choice["input_schema"], choice["proposed_input"]):
        raise errors.InvalidDecision("The proposed input is not of its schema.", place=f"{place}/proposed_input")


def _default(ask: DecisionAsk, given: Mapping[str, Any]) -> Document:
    place = "/default_response"
    if ask.deadline_at is None:
        raise errors.InvalidDecision("A default response needs a deadline.", place=place)
    if not given.keys() <= _RESPONSE_MEMBERS or not isinstance(given.get("choice"), str):
        raise errors.InvalidDecision("A default response is a choice and an input.", place=place)
    try:
        return response(ask.choices, given["choice"], given.get("input"))
    except (errors.UnknownChoice, errors.InvalidInput) as refusal:
        raise errors.InvalidDecision(f"The default response is none: {refusal.detail}", place=place) from None


def _moment(at: datetime | None) -> str | None:
    """UTC with milliseconds, as everything that is shown has it."""
    return None if at is None else at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
