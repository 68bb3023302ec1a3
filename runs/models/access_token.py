"""An access token of the API: hashed, scoped, of one project."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from runs.models.project import Project
from runs.states import Scope


class AccessTokenQuerySet(models.QuerySet["AccessToken"]):
    def usable(self, at: datetime) -> "AccessTokenQuerySet":
        """Neither revoked nor expired."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=at), revoked_at=None)


class AccessToken(models.Model):
    """A *personal* token has a user, a *service* token has none."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="access_tokens")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE)
    name = models.CharField(max_length=200)
    scopes = models.CharField(max_length=200, help_text="Scopes parted by blanks, as in RFC 6749.")
    secret_hash = models.BinaryField(max_length=32, unique=True, editable=False)
    created_at = models.DateTimeField(editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False)

    objects = AccessTokenQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["project", "name"], name="access_token_name_once"),)

    def __str__(self) -> str:
        return self.name

    def grants(self, scope: Scope) -> bool:
        """Whether the token has this scope."""
        return scope.value in self.scopes.split()
