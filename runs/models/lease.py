"""The lease of a run: who holds it, until when, and when the run may be handed out.

Its row is the run's mutex: every transition locks it before it looks at anything else of the run.
"""

from datetime import datetime

from django.db import models
from django.db.models import Case, F, Q, When
from django.db.models.functions import Greatest

from runs.models.definition import Workflow
from runs.models.fields import choices
from runs.models.project import Project
from runs.models.remembering import Remembering
from runs.models.run import Run
from runs.states import OwnerType, Priority, Wish

OWNER_FIELDS = ("owner_type", "owner_id", "token_hash", "acquired_at", "heartbeat_at", "expires_at")
WISH_FIELDS = ("wish", "wish_due_at", "wish_actor_type", "wish_actor_id", "wish_reason")
OFFERED_INDEX = "lease_offered"
OFFERED_ANY_INDEX = "lease_offered_any"


# Of an expired lease in a backoff what ready_at will be once somebody has released it, so that a sweep moves nobody.
OFFERED_SINCE = Case(
    When(Q(owner_id__isnull=False) & Q(backoff_ms__gt=0), then=Greatest("ready_at", "takeover_at")),
    default=F("ready_at"),
)


class LeaseQuerySet(models.QuerySet["Lease"]):
    def locked(self) -> "LeaseQuerySet":
        """Rows locked in key order. SQLite needs no row locks: its transactions begin IMMEDIATE."""
        return self.order_by("pk").select_for_update(of=("self",), no_key=True)

    def taken_first(self) -> "LeaseQuerySet":
        """Rows locked as they come, past those that somebody else has locked."""
        return self.select_for_update(of=("self",), no_key=True, skip_locked=True)

    def ready(self, at: datetime) -> "LeaseQuerySet":
        """Of runs that may be handed out at `at`, were nobody holding them."""
        return self.filter(ready_at__lte=at)

    def unowned(self) -> "LeaseQuerySet":
        return self.filter(owner_id=None)

    def expired(self, at: datetime) -> "LeaseQuerySet":
        return self.filter(owner_id__isnull=False, expires_at__lte=at)

    def in_claim_order(self) -> "LeaseQuerySet":
        return self.order_by("priority", OFFERED_SINCE, "pk")


class Lease(Remembering):
    """Narrow and hot. The owner's six fields are all set or all null; the generation only ever rises."""

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.CASCADE, related_name="lease")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="+", db_index=False)
    priority = models.SmallIntegerField(default=Priority.NORMAL)
    # When the run may be handed out; null while it may not (paused, waiting, held back, terminal).
    ready_at = models.DateTimeField(null=True)
    # Kept here, under the mutex, for what decides on this row alone.
    pending_requests = models.PositiveIntegerField(default=0)
    open_work = models.PositiveIntegerField(default=0, help_text="How much forbids completing the run.")
    effects_in_doubt = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Ambiguous effects, while the run is not over."
    )
    generation = models.PositiveBigIntegerField(default=0)
    owner_type = models.CharField(max_length=20, null=True, choices=choices(OwnerType))
    owner_id = models.TextField(null=True)
    token_hash = models.BinaryField(max_length=32, null=True)
    # Of the owner whose expired lease a sweep has released: its late calls are refused as they were before the sweep.
    swept_token_hash = models.BinaryField(max_length=32, null=True)
    acquired_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    # Whether something was done under this generation; if not, an expiry counts as a crash.
    progressed = models.BooleanField(default=False)
    # How long after its expiry nobody may take the run over, and when that is; null while nobody owns it.
    backoff_ms = models.PositiveIntegerField(default=0)
    takeover_at = models.DateTimeField(null=True)
    # The rest of a backoff whose lease was released: not before this time, whatever available_at says.
    retry_at = models.DateTimeField(null=True)

    # What an operator wishes of a live holder, and when it happens in any case.
    wish = models.CharField(max_length=20, null=True, choices=choices(Wish))
    wish_due_at = models.DateTimeField(null=True)
    wish_actor_type = models.CharField(max_length=20, null=True)
    wish_actor_id = models.TextField(null=True)
    wish_reason = models.TextField(null=True)

    objects = LeaseQuerySet.as_manager()

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="lease_owner_all_or_none",
                condition=Q(**{f"{field}__isnull": True for field in OWNER_FIELDS})
                | Q(**{f"{field}__isnull": False for field in OWNER_FIELDS}),
            ),
            models.CheckConstraint(
                name="lease_wish_has_deadline",
                condition=Q(wish=None, wish_due_at=None) | Q(wish__isnull=False, wish_due_at__isnull=False),
            ),
        )
        indexes = (
            models.Index(
                fields=["workflow", "priority", "ready_at", "run"],
                condition=Q(owner_id__isnull=True, ready_at__isnull=False),
                name=OFFERED_INDEX,
            ),
            models.Index(
                fields=["project", "priority", "ready_at", "run"],
                condition=Q(owner_id__isnull=True, ready_at__isnull=False),
                name=OFFERED_ANY_INDEX,
            ),
            # Without expires_at on purpose: an index on it would make every renewal dearer.
            models.Index(fields=["project", "owner_id"], condition=Q(owner_id__isnull=False), name="lease_owned"),
            # What a sweep looks for: never more than a few rows.
            models.Index(fields=["wish_due_at"], condition=Q(wish_due_at__isnull=False), name="lease_wished"),
            # The runs whose display status is ambiguous: never more than a few rows, one hopes.
            models.Index(fields=["project", "run"], condition=Q(effects_in_doubt__gt=0), name="lease_in_doubt"),
            models.Index(fields=["token_hash"], condition=Q(token_hash__isnull=False), name="lease_by_token"),
        )

    def __str__(self) -> str:
        return f"{self.owner_id or 'nobody'}, generation {self.generation}"

    def is_live(self, at: datetime) -> bool:
        """Owned and not yet expired; at `expires_at` itself it is over."""
        return self.expires_at is not None and self.expires_at > at
