"""Files that must keep saying the same: pins and requirements, the settings' page, the Makefile's own help."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import workflowq

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
APP = PROJECT["project"]["dependencies"]
DEV = [*APP, *PROJECT["dependency-groups"]["test"], *PROJECT["dependency-groups"]["check"]]


def pins(name: str) -> dict[str, str]:
    """The pinned version of each package in a file of requirements/."""
    text = (ROOT / "requirements" / name).read_text()
    return {
        canonicalize_name(package): version for package, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    }


@pytest.mark.parametrize(("name", "wanted"), [("app.txt", APP), ("dev.txt", DEV)])
def test_every_dependency_is_pinned_to_a_version_that_it_allows(name: str, wanted: list[str]) -> None:
    pinned = pins(name)

    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), str(requirement)


@pytest.mark.parametrize("name", ["app.txt", "dev.txt"])
def test_every_pin_has_hashes_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()

    for block in re.split(r"\n(?=\S)", text.strip()):
        assert "--hash=sha256:" in block, block
    assert "://" not in text
    assert "--index" not in text


def test_developing_pins_what_the_server_runs_on() -> None:
    assert pins("app.txt").items() <= pins("dev.txt").items()


def test_the_version_is_the_same_everywhere() -> None:
    assert workflowq.__version__ == PROJECT["project"]["version"]


def test_every_variable_that_the_settings_read_is_on_their_page_and_no_other() -> None:
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', (ROOT / "workflowq" / "settings.py").read_text()))
    read |= set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', (ROOT / "workflowq/management/commands/up.py").read_text()))
    from tests.settings import WORKFLOWQ

    read |= {f"WORKFLOWQ_{name}" for name in WORKFLOWQ}
    page = (ROOT / "docs" / "settings.md").read_text().split("## The runner kit")[0]

    assert set(re.findall(r"^\| `([A-Z_]+)`", page, re.MULTILINE)) == read


def test_the_limits_on_the_settings_page_are_the_real_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.settings import WORKFLOWQ

    page = (ROOT / "docs" / "settings.md").read_text()

    for name, limit in WORKFLOWQ.items():
        assert f"| `WORKFLOWQ_{name}` | `{limit}` |" in page


def test_make_alone_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony

    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout

    assert [line.split()[1] for line in listed.splitlines()] == phony[1].split()
