"""How long to wait before asking again: exponential, fully jittered, capped. Keeps count, doesn't sleep."""

import random

_FLOOR_SECONDS = 0.05


class Backoff:
    """Waits that grow with each failure, so that runners neither hammer a server nor march in step."""

    def __init__(self, base: float = 0.25, cap: float = 30.0, rng: random.Random | None = None) -> None:
        self._base = base
        self._cap = cap
        self._rng = rng or random.Random()  # noqa: S311 - waits are no secret
        self.failures = 0

    def next(self, at_least: float = 0.0) -> float:
        """The next wait in seconds; `at_least` is what the server asked for, and the jitter comes on top of it."""
        ceiling = min(self._cap, self._base * 2.0 ** min(self.failures, 30))
        self.failures += 1
        return min(at_least, self._cap) + max(_FLOOR_SECONDS, self._rng.uniform(0.0, ceiling))

    def reset(self) -> None:
        self.failures = 0

    def spread(self, seconds: float) -> float:
        """About these seconds, a quarter more or less, for polls that should not fall together."""
        return seconds * self._rng.uniform(0.75, 1.25)
