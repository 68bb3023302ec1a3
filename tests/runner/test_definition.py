"""Which code has which digest, and which functions are workflows."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.runner.builders import two_steps
from workflowq.runner import Context, Json, Workflow, WorkflowUnusable, workflow, workflows_in

_SOURCE = """
from workflowq.runner import workflow

FACTOR = 2

@workflow("made")
def made(ctx, input):
    return FACTOR
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "type[Modules]":
    monkeypatch.syspath_prepend(str(tmp_path))
    Modules.folder = tmp_path
    return Modules


class Modules:
    """Writes modules into a folder that can be imported from."""

    folder: Path

    @classmethod
    def made(cls, source: str, name: str = "made_for_tests") -> Workflow:
        (cls.folder / f"{name}.py").write_bytes(source.encode())
        sys.modules.pop(name, None)
        for cached in cls.folder.glob("__pycache__/*"):
            cached.unlink()
        try:
            return workflows_in([name])["made"]
        finally:
            sys.modules.pop(name, None)


def test_equal_code_has_an_equal_digest_whatever_its_line_ends(module: type[Modules]) -> None:
    first = module.made(_SOURCE).definition

    second = module.made(_SOURCE.replace("\n", "\r\n")).definition

    assert first == second
    assert first.digest.startswith("sha256:")
    assert len(first.digest) == len("sha256:") + 64


@pytest.mark.parametrize("change", [("return FACTOR", "return FACTOR + 1"), ("FACTOR = 2", "FACTOR = 3")])
def test_changed_code_has_another_digest(module: type[Modules], change: tuple[str, str]) -> None:
    before = module.made(_SOURCE).definition

    after = module.made(_SOURCE.replace(*change)).definition

    assert before.digest != after.digest
    assert before.snapshot["source"]["hash"] != after.snapshot["source"]["hash"]


def test_a_definition_names_its_source_without_the_machines_folders(module: type[Modules]) -> None:
    definition = module.made(_SOURCE).definition

    assert definition.ref == "made_for_tests:made"
    assert definition.source == {
        "kind": "file",
        "path": "made_for_tests.py",
        "hash": definition.snapshot["source"]["hash"],
    }
    assert str(module.folder) not in repr(definition)


def test_a_modules_namespace_is_its_registry() -> None:
    found = workflows_in(["workflowq.demo", "workflowq.demo.inventory"])

    assert sorted(found) == ["brittle", "inventory"]


def test_a_workflow_can_be_called_like_the_function() -> None:
    class Steps:
        def step(self, node_id: str, fn: "type[Json]") -> Json:
            return fn()

    assert two_steps(Steps(), {"number": 4}) == {"result": 10}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["json", "no.such.module", "workflowq.runner.nothing_here"])
def test_a_module_without_workflows_is_refused(name: str) -> None:
    with pytest.raises(WorkflowUnusable):
        workflows_in([name])


def test_an_error_inside_a_module_is_its_own(module: type[Modules]) -> None:
    with pytest.raises(ModuleNotFoundError, match="not_installed"):
        module.made("import not_installed")


def test_two_different_workflows_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("other_workflows")

    @workflow("two-steps")
    def another(ctx: Context, input: Json) -> Json:
        return None

    vars(other)["another"] = another
    monkeypatch.setitem(sys.modules, "other_workflows", other)

    with pytest.raises(WorkflowUnusable, match="two-steps"):
        workflows_in(["tests.runner.builders", "other_workflows"])


def test_async_functions_and_generators_are_refused() -> None:
    async def later(ctx: Context, input: Json) -> Json:
        return None

    def some(ctx: Context, input: Json) -> Json:
        yield None

    for function in (later, some):
        with pytest.raises(WorkflowUnusable):
            workflow("w")(function)
    with pytest.raises(WorkflowUnusable):
        workflow(" ")
