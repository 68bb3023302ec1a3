"""Access tokens, and the owner ids that belong to them."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from runs import clock, errors, rules
from runs.models import AccessToken, Owner, Project
from runs.states import Scope
from runs.transitions.mutex import transition

PREFIX = "wq_"
STAMPED_EVERY = timedelta(minutes=1)


@transition
def make_project(path: str) -> tuple[Project, bool]:
    """The project of this path, and whether it was made now."""
    return Project.objects.get_or_create(path=path)


@transition
def issue_access_token(
    project: Project, name: str, scopes: Sequence[str], *, user: Any = None, expires_at: datetime | None = None
) -> tuple[AccessToken, str]:
    """A new access token and its secret, which is stored nowhere: only its SHA-256 is."""
    granted = rules.scopes(list(scopes))
    if user is None and Scope.DECISIONS_ANSWER in scopes:
        raise errors.Invalid("Only a person's token answers decisions.")
    if AccessToken.objects.filter(project=project, name=name).exists():
        raise errors.TokenNameTaken(name=name)
    secret = PREFIX + secrets.token_urlsafe(32)
    token = AccessToken.objects.create(
        project=project,
        user=user,
        name=name,
        scopes=granted,
        secret_hash=rules.token_hash(secret),
        created_at=clock.now(),
        expires_at=expires_at,
    )
    return token, secret


@transition
def revoke_access_token(token: AccessToken) -> None:
    """End a token's use at once."""
    AccessToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock.now())


def stamp_use(token: AccessToken, at: datetime) -> None:
    """Note that the token was used, once a minute at most: reads must not queue behind writers for it."""
    due = Q(last_used_at=None) | Q(last_used_at__lte=at - STAMPED_EVERY)
    AccessToken.objects.filter(due, pk=token.pk).update(last_used_at=at)


def own(access_token: AccessToken, owner_id: str) -> None:
    """Tie an owner id to the first access token that uses it. Refuses it to every other one."""
    rules.owner(owner_id)
    # A look first: runners ask all day long, and only once is there something to write.
    owner = Owner.objects.filter(project=access_token.project_id, owner_id=owner_id).first()
    if owner is None:
        owner = _owned(access_token, owner_id)
    if owner.access_token_id != access_token.pk:
        raise errors.OwnerTaken(owner_id=owner_id)


@transition
def _owned(access_token: AccessToken, owner_id: str) -> Owner:
    owner, _ = Owner.objects.get_or_create(
        project_id=access_token.project_id,
        owner_id=owner_id,
        defaults={"access_token": access_token, "created_at": clock.now()},
    )
    return owner
