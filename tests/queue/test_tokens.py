"""Access tokens and the owner ids that belong to them."""

import hashlib
from datetime import timedelta

import pytest

from runs import errors, transitions
from runs.models import AccessToken, Owner, Project
from runs.states import Scope
from tests.builders import FrozenClock, snapshot_of_everything

EXECUTE = [Scope.RUNS_EXECUTE]


def test_a_secret_is_told_once_and_only_its_hash_is_kept(project: Project) -> None:
    token, secret = transitions.issue_access_token(project, "runner", EXECUTE)

    assert (len(secret), secret[:3]) == (46, "wq_")
    assert bytes(token.secret_hash) == hashlib.sha256(secret.encode()).digest()
    assert secret not in repr(snapshot_of_everything())


def test_no_two_secrets_are_the_same(project: Project) -> None:
    secrets = {transitions.issue_access_token(project, f"runner {n}", EXECUTE)[1] for n in range(5)}

    assert len(secrets) == 5


def test_a_token_grants_its_scopes_alone(project: Project) -> None:
    token, _ = transitions.issue_access_token(project, "client", [Scope.RUNS_WRITE, Scope.RUNS_READ])

    assert [scope for scope in Scope if token.grants(scope)] == [Scope.RUNS_READ, Scope.RUNS_WRITE]


@pytest.mark.parametrize("scopes", [[], ["runs:everything"], ["runs:execute", "decisions:answer"]])
def test_scopes_that_make_no_sense_are_refused(project: Project, scopes: list[str]) -> None:
    before = snapshot_of_everything()

    with pytest.raises(errors.Invalid):
        transitions.issue_access_token(project, "runner", scopes)

    assert snapshot_of_everything() == before


def test_a_token_is_usable_until_it_expires_or_is_revoked(project: Project, clock: FrozenClock) -> None:
    expires, _ = transitions.issue_access_token(
        project, "expires", EXECUTE, expires_at=clock.at + timedelta(milliseconds=1)
    )
    revoked, _ = transitions.issue_access_token(project, "revoked", EXECUTE)

    transitions.revoke_access_token(revoked)
    before = list(AccessToken.objects.usable(clock.at))
    clock.advance(1)
    after = list(AccessToken.objects.usable(clock.at))

    assert (before, after) == ([expires], [])


def test_a_token_is_revoked_once(project: Project, clock: FrozenClock) -> None:
    token, _ = transitions.issue_access_token(project, "runner", EXECUTE)
    transitions.revoke_access_token(token)
    clock.advance(1_000)

    transitions.revoke_access_token(token)

    token.refresh_from_db()
    assert token.revoked_at == clock.at - timedelta(seconds=1)


def test_use_is_stamped_once_a_minute_at_most(project: Project, clock: FrozenClock) -> None:
    token, _ = transitions.issue_access_token(project, "runner", EXECUTE)
    first = clock.at

    stamps = []
    for ms in (0, 59_999, 1):
        clock.advance(ms)
        transitions.stamp_use(token, clock.at)
        token.refresh_from_db()
        stamps.append(token.last_used_at)

    assert stamps == [first, first, first + timedelta(minutes=1)]


def test_an_owner_id_belongs_to_the_access_token_that_used_it_first(project: Project) -> None:
    first, _ = transitions.issue_access_token(project, "first", EXECUTE)
    second, _ = transitions.issue_access_token(project, "second", EXECUTE)
    transitions.own(first, "host-a")

    transitions.own(first, "host-a")
    with pytest.raises(errors.OwnerTaken) as refused:
        transitions.own(second, "host-a")

    assert refused.value.facts == {"owner_id": "host-a"}
    assert Owner.objects.get().access_token == first


@pytest.mark.parametrize("owner_id", ["system", "workflow-control"])
def test_reserved_owner_ids_belong_to_nobody(project: Project, owner_id: str) -> None:
    token, _ = transitions.issue_access_token(project, "runner", EXECUTE)

    with pytest.raises(errors.Invalid):
        transitions.own(token, owner_id)

    assert not Owner.objects.exists()


def test_owner_ids_are_per_project(project: Project, other_project: Project) -> None:
    ours, _ = transitions.issue_access_token(project, "runner", EXECUTE)
    theirs, _ = transitions.issue_access_token(other_project, "runner", EXECUTE)

    for token in (ours, theirs):
        transitions.own(token, "host-a")

    assert Owner.objects.count() == 2


def test_a_project_is_made_once(db: None) -> None:
    first, second = transitions.make_project("a path"), transitions.make_project("a path")

    assert (first[1], second[1], first[0]) == (True, False, second[0])
