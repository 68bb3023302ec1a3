"""By which name a runner process is known to the server."""

import re
import secrets
import socket

_NAME_CHARACTERS = 150


def owner_id(name: str | None = None) -> str:
    """`host-<name>-<boot id>`: the boot id tells this process from an earlier one of the same name."""
    wanted = name or socket.gethostname()
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted).strip("-.")[:_NAME_CHARACTERS]
    return f"host-{clean or 'runner'}-{secrets.token_hex(4)}"
