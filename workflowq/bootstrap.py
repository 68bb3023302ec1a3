"""What an installation needs before its first start, each thing made where it is missing and adopted where it is there.

Secrets are random and returned once, to be shown; only the keepers named here know them afterwards.
"""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured

from runs import clock, rules
from runs.models import AccessToken, Project
from runs.transitions import issue_access_token, make_project, revoke_access_token

PROJECT = "demo"
OPERATOR = "operator"
TOKEN_NAME = "demo-runner"  # noqa: S105 (a name)
SCOPES = ("runs:read", "runs:write", "runs:execute")


def private_folder(folder: Path) -> None:
    """The folder, for this account alone."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def secret_key(file: Path) -> str:
    """The secret key that the file keeps; a new one where there is no file."""
    if not file.exists():
        _keep(file, secrets.token_urlsafe(48))
    return file.read_text(encoding="ascii").strip()


def project() -> Project:
    """The demo's project."""
    found, _ = make_project(PROJECT)
    return found


def operator() -> str | None:
    """The password of a new operator account; None where the account was there, whose password nobody knows here."""
    if User.objects.filter(username=OPERATOR).exists():
        return None
    password = secrets.token_urlsafe(15)
    User.objects.create_superuser(username=OPERATOR, email="", password=password)
    return password


def runner_token(project: Project, file: Path, scopes: Sequence[str] = SCOPES) -> str | None:
    """The secret of a new access token, kept in the file too; None where the file's own is still good."""
    if file.exists() and _usable(project, file.read_text(encoding="ascii").strip()):
        return None
    # Whatever these were issued for has lost its secret.
    held = AccessToken.objects.filter(project=project, name__startswith=TOKEN_NAME)
    for token in held.usable(clock.now()):
        revoke_access_token(token)
    name = f"{TOKEN_NAME}-{held.count() + 1}" if held.exists() else TOKEN_NAME
    _, secret = issue_access_token(project, name, scopes)
    file.unlink(missing_ok=True)
    _keep(file, secret)
    return secret


def _usable(project: Project, secret: str) -> bool:
    usable = AccessToken.objects.filter(project=project, secret_hash=rules.token_hash(secret)).usable(clock.now())
    return usable.exists()


def _keep(file: Path, secret: str) -> None:
    # Never readable by others, not even for a moment, and never in place of what is there.
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ImproperlyConfigured(f"Another `up` has just made {file}; run one at a time.") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as kept:
        kept.write(secret + "\n")
