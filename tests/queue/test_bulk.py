"""Updates of many rows with values of their own."""

from datetime import timedelta

import pytest

from runs.models import Lease, Run
from runs.transitions import bulk
from tests.builders import START, RunBuilder


@pytest.fixture(autouse=True)
def sound() -> None:
    """No transition wrote these rows."""


def test_each_row_gets_values_of_its_own_and_no_other_row_any(make: RunBuilder) -> None:
    first, second, untouched = (make.queued().run for _ in range(3))
    first.status_detail, first.paused, first.head_digest = 'it\'s %s \\ "é"', True, b"\x00" * 31 + b"\xff"
    second.status_detail, second.error_code = None, "broken"
    second.available_at = START + timedelta(milliseconds=1)

    bulk.update([first, second], ["status_detail", "paused", "head_digest", "error_code", "available_at"])

    stored = [Run.objects.get(pk=run.pk) for run in (first, second, untouched)]
    assert [run.status_detail for run in stored] == [first.status_detail, None, None]
    assert [run.paused for run in stored] == [True, False, False]
    assert bytes(stored[0].head_digest) == first.head_digest
    assert [run.error_code for run in stored] == [None, "broken", None]
    assert [run.available_at for run in stored] == [START, START + timedelta(milliseconds=1), START]


def test_a_column_of_nulls_alone_keeps_its_type(make: RunBuilder) -> None:
    leases = [make.expired().lease for _ in range(2)]
    for lease in leases:
        lease.takeover_at, lease.swept_token_hash = None, None

    bulk.update(leases, ["takeover_at", "swept_token_hash"])

    assert set(Lease.objects.values_list("takeover_at", "swept_token_hash")) == {(None, None)}


def test_very_many_rows_take_a_few_statements(make: RunBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST_PARAMETERS", 5)
    runs = [made.run for made in make.many(7)]
    for number, run in enumerate(runs):
        run.status_detail = str(number)

    bulk.update(runs, ["status_detail"])

    assert [made.status_detail for made in Run.objects.order_by("pk")] == [str(number) for number in range(7)]
