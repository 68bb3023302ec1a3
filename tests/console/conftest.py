"""The cast of the console's tests: who may do what, each with a browser of their own, and a project with runs."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.test import Client

from runs.models import AccessToken, Project, Run
from tests.builders import RunBuilder

Browser = Callable[[User], Client]


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(path="acme")


@pytest.fixture
def runs(project: Project) -> RunBuilder:
    return RunBuilder(project)


@pytest.fixture
def chief(db: None) -> User:
    """May do everything."""
    return User.objects.create_superuser("chief")


@pytest.fixture
def operator(db: None) -> User:
    """May look at runs and cancel them."""
    return _staff("olga.operator", view_run=Run, control_run=Run)


@pytest.fixture
def viewer(db: None) -> User:
    """May look at runs, and that is all."""
    return _staff("victor.viewer", view_run=Run)


@pytest.fixture
def newcomer(db: None) -> User:
    """Staff whom nobody has given a right."""
    return _staff("nora.newcomer")


@pytest.fixture
def token_keeper(db: None) -> User:
    """May look at access tokens, issue and revoke them."""
    return _staff(
        "tom.keeper", view_accesstoken=AccessToken, add_accesstoken=AccessToken, change_accesstoken=AccessToken
    )


@pytest.fixture
def browser() -> Browser:
    """Signs an account in. What a view raises becomes the page that a person would see."""

    def signed_in(user: User) -> Client:
        client = Client(raise_request_exception=False)
        client.force_login(user)
        return client

    return signed_in


def _staff(name: str, **rights: type[Run] | type[AccessToken]) -> User:
    user = User.objects.create_user(name, is_staff=True)
    for codename, model in rights.items():
        kind = ContentType.objects.get_for_model(model)
        permission, _ = Permission.objects.get_or_create(codename=codename, content_type=kind)
        user.user_permissions.add(permission)
    return user
