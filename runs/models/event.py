"""The journal of a run: the only log, append-only, chained by digests."""

from django.db import models
from django.db.models import Q

from runs.models.fields import choices, one_of
from runs.models.project import Project
from runs.models.run import Run
from runs.states import ActorType, AggregateKind


class EventQuerySet(models.QuerySet["Event"]):
    def brief(self) -> "EventQuerySet":
        """Without what only viewers want: the changes may be longer than all the rest."""
        return self.select_related("run").defer("changes")

    def in_sequence(self) -> "EventQuerySet":
        return self.order_by("pk")


class Event(models.Model):
    """Never updated; deleted only along with its run. The key is the global sequence number."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events", db_index=False)
    kind = models.CharField(max_length=20, choices=choices(AggregateKind))
    key = models.CharField(max_length=200, help_text="The id of the run, effect or decision that moved.")
    revision = models.PositiveBigIntegerField()
    type = models.TextField()
    actor_type = models.CharField(max_length=20, choices=choices(ActorType))
    actor_id = models.TextField(null=True)
    generation = models.PositiveBigIntegerField(null=True)
    payload = models.TextField(help_text="Canonical JSON.")
    # What the transition changed in the run's view, as canonical JSON; null on events from before there were views.
    changes = models.TextField(null=True)
    at = models.DateTimeField()
    digest = models.BinaryField(max_length=32)
    # Where sequence order is not commit order (PostgreSQL): the writing transaction, for the project's feed.
    transaction_id = models.PositiveBigIntegerField(default=0)

    objects = EventQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "kind", "key", "revision"], name="event_revision_once"),
            models.CheckConstraint(condition=Q(revision__gt=0), name="event_revision_positive"),
            one_of("kind", AggregateKind, "event_kind_known"),
            one_of("actor_type", ActorType, "event_actor_type_known"),
        )
        indexes = (
            models.Index(fields=["run", "id"], name="event_of_run"),
            models.Index(fields=["project", "transaction_id", "id"], name="event_feed"),
        )

    def __str__(self) -> str:
        return f"{self.key} r{self.revision} {self.type}"
