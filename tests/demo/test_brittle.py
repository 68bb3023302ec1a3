"""The workflow that fails on purpose."""

import pytest

from tests.demo.local_context import LocalContext
from workflowq.demo import break_on_purpose
from workflowq.demo.brittle import PartMissing


def test_it_fails_in_its_second_step_and_says_why() -> None:
    context = LocalContext()

    with pytest.raises(PartMissing, match="spare bolt missing"):
        break_on_purpose(context, {})  # type: ignore[arg-type]

    assert context.ran == ["prepare", "fit"]
    assert list(context.done) == ["prepare"]
