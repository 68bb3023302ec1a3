"""Reserving the demo runs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.fake_server import TOKEN, FakeServer
from tests.runner.loopback import on_loopback
from workflowq.demo import take_inventory
from workflowq.demo.submit import main


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


@pytest.fixture(autouse=True)
def url(fake: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with on_loopback(fake) as url:
        monkeypatch.setenv("WORKFLOWQ_URL", url)
        monkeypatch.setenv("WORKFLOWQ_TOKEN", TOKEN)
        yield url


def test_one_run_of_each_workflow_is_reserved(
    fake: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--folder", str(tmp_path)])

    lines = capsys.readouterr().out.splitlines()
    inventory, brittle = fake.runs.values()
    assert code == 0
    assert lines == [f"{inventory.run_id} inventory reserved", f"{brittle.run_id} brittle reserved"]
    assert re.fullmatch(r"inventory-\d{8}-\d{6}", inventory.run_id)
    assert inventory.input == {"folder": str(tmp_path)}
    assert inventory.definition_digest == take_inventory.definition.digest
    assert inventory.members["execution_mode"] == brittle.members["execution_mode"] == "headless"
    assert [call.method for call in fake.calls if call.body] == ["PUT", "PUT"]


@pytest.mark.parametrize("status", ["queued", "running", "waiting"])
def test_a_run_under_way_is_told_and_none_added(
    fake: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], status: str
) -> None:
    fake.reserve("inventory-of-before", take_inventory.definition).status = status

    main(["--folder", str(tmp_path)])

    first, second = capsys.readouterr().out.splitlines()
    assert first == f"inventory-of-before inventory is under way already ({status}), none added"
    assert second.endswith("brittle reserved")
    assert len(fake.runs) == 2


def test_a_finished_run_is_no_hindrance(fake: FakeServer, tmp_path: Path) -> None:
    fake.reserve("inventory-of-before", take_inventory.definition).status = "completed"

    main(["--folder", str(tmp_path)])

    assert len(fake.runs) == 3


def test_a_refusal_and_a_missing_folder_have_exit_codes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORKFLOWQ_TOKEN", "wq_another")
    assert main(["--folder", str(tmp_path)]) == 1
    assert "unauthenticated" in capsys.readouterr().err

    with pytest.raises(SystemExit) as ended:
        main(["--folder", str(tmp_path / "none")])
    assert ended.value.code == 2
