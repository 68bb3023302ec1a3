"""What a choice takes for an input, and what people mean who give none."""

from typing import Any

import pytest

from runs import canonical, errors
from tests.builders import RunBuilder, snapshot_of_everything
from tests.queue.people_cast import ANN, BOB, CAT, Decided, PeopleBuilder

COUNT = {"type": "integer", "minimum": 1}
CHOICES: list[dict[str, Any]] = [
    {"id": "plain", "label": "As it is"},
    {"id": "some", "label": "So many", "input_schema": COUNT},
    {"id": "note", "label": "With a note", "input_schema": {"type": ["string", "null"], "maxLength": 10}},
    {"id": "edit", "label": "Edited", "editable": True, "proposed_input": 3, "input_schema": COUNT},
    {"id": "free", "label": "Anything", "editable": True},
]
TAKEN = [
    ("plain", None, None), ("some", 2, 2), ("note", None, None), ("note", "ok", "ok"), ("edit", None, 3),
    ("edit", 5, 5), ("free", None, None), ("free", {"a": [1]}, {"a": [1]}),
]  # fmt: skip
REFUSED = [("plain", 1), ("some", None), ("some", "2"), ("some", 0), ("some", True), ("note", "x" * 11), ("edit", 0)]


def response(decided: Decided) -> Any:
    blob = decided.decision.resolution.response
    return None if blob is None else canonical.loads(bytes(blob.content))


@pytest.fixture
def people(make: RunBuilder) -> PeopleBuilder:
    return PeopleBuilder(make)


@pytest.mark.parametrize(("choice", "given", "meant"), TAKEN)
def test_a_choice_takes_the_input_that_it_says(people: PeopleBuilder, choice: str, given: Any, meant: Any) -> None:
    decided = people.undecided(choices=CHOICES)

    decided.answer(choice, input=given)

    assert response(decided) == {"choice": choice, "input": meant}
    before = snapshot_of_everything()
    decided.answer(choice, input=given)
    assert snapshot_of_everything() == before


@pytest.mark.parametrize(("choice", "given"), REFUSED)
def test_a_choice_takes_no_other_input(people: PeopleBuilder, choice: str, given: Any) -> None:
    decided = people.undecided(choices=CHOICES)
    before = snapshot_of_everything()

    with pytest.raises(errors.InvalidInput) as refused:
        decided.answer(choice, input=given)

    assert refused.value.facts["choice"] == choice
    assert snapshot_of_everything() == before


def test_two_people_who_enter_something_else_are_not_of_one_mind(people: PeopleBuilder) -> None:
    decided = people.undecided(choices=CHOICES, quorum=2)
    decided.answer("edit", ANN, input=4)

    assert decided.answer("edit", BOB).resolution is None
    assert decided.answer("edit", CAT, input=3).resolution


def test_an_unknown_choice_is_refused_with_those_there_are(people: PeopleBuilder) -> None:
    decided = people.undecided()

    with pytest.raises(errors.UnknownChoice) as refused:
        decided.answer("maybe")

    assert refused.value.facts["choices"] == ["yes", "no"]
