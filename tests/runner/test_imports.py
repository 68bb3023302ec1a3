"""The kit stands alone."""

import subprocess
import sys

import pytest

_PROGRAM = """
import sys
import {module}
foreign = sorted(name for name in sys.modules if name.split(".")[0] in ("django", "rest_framework", "api", "runs"))
sys.exit(", ".join(foreign) or 0)
"""


@pytest.mark.parametrize(
    "module", ["workflowq.runner", "workflowq.runner.__main__", "workflowq.demo", "workflowq.demo.submit"]
)
def test_importing_the_kit_imports_no_django(module: str) -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM.format(module=module)], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
