"""A stand-in for the kit's context that runs steps here and keeps what they give, as JSON, like the server would."""

import json
from typing import Any


class LocalContext:
    def __init__(self, done: dict[str, Any] | None = None) -> None:
        self.done = {} if done is None else done
        self.ran: list[str] = []
        self.told: list[Any] = []

    def step(self, node_id: str, fn: Any, *args: Any) -> Any:
        if node_id not in self.done:
            self.ran.append(node_id)
            self.done[node_id] = json.dumps(fn(*args), allow_nan=False)
        return json.loads(self.done[node_id])

    def progress(self, value: Any) -> None:
        self.told.append(value)
