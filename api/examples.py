"""Bodies that the OpenAPI document shows; a test sends each of them."""

from typing import Any, Final

_RESERVATION: Final[dict[str, Any]] = {
    "workflow_name": "inventory",
    "workflow_ref": "inventory@1",
    "workflow_source": {"kind": "builtin", "id": "inventory", "revision": "1"},
    "definition_digest": "sha256:" + "0f" * 32,
    "definition_snapshot": {"name": "inventory"},
    "input": {"folder": "/srv/data"},
    "origin_session_id": "nightly",
    "execution_mode": "headless",
}
RESERVE: Final = {"A headless run": {"run_id": "inventory-2026-12-01", **_RESERVATION}}
ADOPT: Final = {"A headless run": _RESERVATION}
CLAIM_NEXT: Final = {
    "One run for thirty seconds": {
        "owner_id": "host-a-4711",
        "workflows": ["inventory"],
        "tokens": ["a-secret-of-43-characters-made-by-the-runner"],
        "lease_ms": 30_000,
    }
}
