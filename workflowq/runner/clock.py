"""The clock that leases are counted on: seconds that never go back and, where the system can tell, pass in sleep.

Wall clock time is not used for decisions anywhere in the kit.
"""

import sys
import time
from collections.abc import Callable
from typing import TypeAlias

Ticks: TypeAlias = Callable[[], float]
Deadline: TypeAlias = Callable[[], float]
"""The tick at which something ends. It is asked each time, since a renewal moves it."""


def _clock_id() -> int | None:
    # time.monotonic() stands still while a Linux or macOS machine sleeps: a lease would seem alive after waking.
    if sys.platform == "darwin":
        return getattr(time, "CLOCK_MONOTONIC", None)
    return getattr(time, "CLOCK_BOOTTIME", None)


_CLOCK = _clock_id()


def ticks() -> float:
    """Seconds since some fixed moment."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
