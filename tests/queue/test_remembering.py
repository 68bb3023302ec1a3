"""Rows that know how they stood when they were last told of."""

from tests.builders import RunBuilder


def test_a_row_that_is_told_of_again_and_again_keeps_no_more_than_its_last_state(make: RunBuilder) -> None:
    run = make.queued().run

    for number in range(3):
        run.status_detail = str(number)
        assert run.has_moved("status_detail")
        run.remember()

    assert not run.has_moved("status_detail")
    assert "_before" not in run._before
