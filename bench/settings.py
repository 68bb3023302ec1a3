"""The server's own settings, and beside its database a second one of the same kind, to be compared with the first."""

from workflowq.settings import *  # noqa: F403
from workflowq.settings import DATABASES

_first = DATABASES["default"]
DATABASES["full"] = {**_first, "NAME": f"{_first['NAME']}_full"}
