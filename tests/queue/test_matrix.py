"""Every verb in every state: allowed, it ends where the table says; refused, it tells why and changes nothing."""

import pytest
from django.db import transaction

from runs import errors
from runs.models import Run
from runs.verbs import DELETE, VERBS, WRITE_EFFECT
from tests.builders import Made, Picture, RunBuilder, snapshot_of_everything
from tests.queue.matrix import CALLS, STATES, Call, State, axes_after, reasons, stand
from tests.queue.test_people_matrix import PEOPLE_VERBS
from tests.soundness import assert_sound


def test_every_verb_of_the_table_is_in_the_matrix() -> None:
    # Those about sessions and people, and the tries of an effect, have matrices of their own.
    elsewhere = {*PEOPLE_VERBS, WRITE_EFFECT}
    assert {call.verb for call in CALLS} | elsewhere == set(VERBS.values())


@pytest.mark.parametrize("state", STATES, ids=str)
def test_every_verb_does_what_the_table_says(make: RunBuilder, state: State) -> None:
    made = stand(make, state)
    before = snapshot_of_everything()

    for call in CALLS:
        with transaction.atomic():
            if reasons(call, state):
                assert_refused(call, made, state, before)
            else:
                assert_allowed(call, made, state)
            transaction.set_rollback(True)


def assert_refused(call: Call, made: Made, state: State, before: Picture) -> None:
    with pytest.raises(errors.Refusal) as refused:
        call.perform(made)

    assert type(refused.value) in reasons(call, state), call.name
    assert snapshot_of_everything() == before, call.name


def assert_allowed(call: Call, made: Made, state: State) -> None:
    try:
        call.perform(made)
    except errors.Refusal as refusal:
        raise AssertionError(f"{call.name} was refused") from refusal

    if call.verb is DELETE:
        assert not Run.objects.filter(run_id=made.run_id).exists()
    else:
        assert made.axes == axes_after(call, state), call.name
    assert_sound()
