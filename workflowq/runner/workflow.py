"""The decorator that makes a function a workflow, and the finding of workflows in a module. Runs nothing."""

import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from workflowq.runner.definition import Definition
from workflowq.runner.errors import WorkflowUnusable
from workflowq.runner.wire import Json

if TYPE_CHECKING:
    from workflowq.runner.context import Context

WorkflowFunction: TypeAlias = "Callable[[Context, Any], Any]"


@dataclass(frozen=True, slots=True)
class Workflow:
    """A named function that a runner can serve. A module's namespace is its registry, whatever it calls them there."""

    name: str
    function: WorkflowFunction
    definition: Definition

    def __call__(self, ctx: "Context", input: Json) -> Json:
        return self.function(ctx, input)


def workflow(name: str) -> Callable[[WorkflowFunction], Workflow]:
    """Decorates `def f(ctx: Context, input) -> output`, to be served under the given name."""
    if not name.strip():
        raise WorkflowUnusable("a workflow needs a name: @workflow('nightly-report')")

    def decorate(function: WorkflowFunction) -> Workflow:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise WorkflowUnusable(f"workflow {name!r} must be a plain function, neither async nor a generator")
        return Workflow(name, function, Definition.of(name, function))

    return decorate


def workflows_in(modules: Iterable[str]) -> dict[str, Workflow]:
    """The workflows found in these modules by name; refuses a module without any and two different ones of one name."""
    found: dict[str, Workflow] = {}
    for module in modules:
        here = [value for value in vars(_import(module)).values() if isinstance(value, Workflow)]
        if not here:
            raise WorkflowUnusable(f"module {module} has no workflow in it: decorate a function with @workflow('name')")
        for one in here:
            if found.setdefault(one.name, one).definition != one.definition:
                raise WorkflowUnusable(f"two workflows are called {one.name!r}; runs couldn't tell them apart")
    return found


def _import(module: str) -> object:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            raise WorkflowUnusable(f"there is no module {module}") from None
        raise
