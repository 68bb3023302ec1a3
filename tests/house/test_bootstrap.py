"""The first start makes what is missing, the next one adopts it; secrets are shown once and kept from others."""

from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User

from runs import clock
from runs.models import AccessToken, Project
from workflowq import bootstrap

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runner_token"


def usable() -> list[str]:
    return [token.name for token in AccessToken.objects.usable(clock.now())]


def test_a_new_secret_key_is_random_and_its_owners_alone(tmp_path: Path) -> None:
    first, second = (bootstrap.secret_key(tmp_path / name) for name in ("first", "second"))

    assert first != second
    assert len(first) >= 64
    assert (tmp_path / "first").stat().st_mode & 0o777 == 0o600


def test_a_secret_key_that_is_there_stays(tmp_path: Path) -> None:
    made = bootstrap.secret_key(tmp_path / "key")

    assert bootstrap.secret_key(tmp_path / "key") == made


def test_the_folder_of_secrets_is_closed_to_others(tmp_path: Path) -> None:
    bootstrap.private_folder(tmp_path / "var")

    assert (tmp_path / "var").stat().st_mode & 0o777 == 0o700


def test_a_new_operator_can_log_in_with_the_password_that_is_shown() -> None:
    password = bootstrap.operator()

    user = authenticate(username="operator", password=password)
    assert isinstance(user, User)
    assert user.is_superuser


def test_an_operator_that_is_there_keeps_the_password() -> None:
    password = bootstrap.operator()

    assert bootstrap.operator() is None
    assert authenticate(username="operator", password=password)
    assert User.objects.count() == 1


def test_the_project_is_made_once() -> None:
    assert bootstrap.project() == bootstrap.project()
    assert [project.path for project in Project.objects.all()] == ["demo"]


def test_a_new_token_is_kept_in_a_file_of_its_owner_and_in_the_database_as_a_hash(file: Path) -> None:
    secret = bootstrap.runner_token(bootstrap.project(), file)

    token = AccessToken.objects.get()
    assert file.read_text().strip() == secret
    assert file.stat().st_mode & 0o777 == 0o600
    assert token.scopes.split() == ["runs:execute", "runs:read", "runs:write"]
    assert secret
    assert secret.encode() not in bytes(token.secret_hash)


def test_a_token_that_still_works_is_adopted_and_not_shown_again(file: Path) -> None:
    bootstrap.runner_token(bootstrap.project(), file)

    assert bootstrap.runner_token(bootstrap.project(), file) is None
    assert usable() == ["demo-runner"]


@pytest.mark.parametrize("loss", ["file gone", "file broken", "token revoked"])
def test_a_token_whose_secret_is_lost_is_replaced_and_revoked(file: Path, loss: str) -> None:
    project = bootstrap.project()
    lost = bootstrap.runner_token(project, file)
    if loss == "file gone":
        file.unlink()
    elif loss == "file broken":
        file.write_text("nonsense\n")
    else:
        AccessToken.objects.update(revoked_at=clock.now())

    secret = bootstrap.runner_token(project, file)

    assert secret not in {None, lost}
    assert file.read_text().strip() == secret
    assert usable() == ["demo-runner-2"]
