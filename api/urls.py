"""The addresses under /api/v1/."""

from django.urls import URLPattern, URLResolver, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from api import (
    attempts,
    batch,
    bookkeeping,
    client,
    control,
    converters,
    decisions,
    effects,
    events,
    interaction,
    messages,
    run_views,
    runner,
)
from api.endpoint import Nowhere

converters.register()

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs", client.Runs.as_view(), name="runs"),
    path("runs/<run:run_id>", client.Run.as_view(), name="run"),
    path("runs/<run:run_id>/cancel", client.Cancel.as_view(), name="cancel"),
    path("runs/<run:run_id>/pause", control.Pause.as_view(), name="pause"),
    path("runs/<run:run_id>/unpause", control.Unpause.as_view(), name="unpause"),
    path("runs/<run:run_id>/run-now", control.RunNow.as_view(), name="run-now"),
    path("runs/<run:run_id>/resume", control.Resume.as_view(), name="resume"),
    path("runs/<run:run_id>/pause-parked", control.PauseParked.as_view(), name="pause-parked"),
    path("runs/<run:run_id>/resume-interaction", control.ResumeInteraction.as_view(), name="resume-interaction"),
    path("runs/<run:run_id>/time-out", control.TimeOut.as_view(), name="time-out"),
    path("runs/<run:run_id>/interaction-timeout", control.InteractionTimeout.as_view(), name="interaction-timeout"),
    path("runs/<run:run_id>/delete", control.Delete.as_view(), name="delete"),
    path("runs/<run:run_id>/late-results", control.LateResults.as_view(), name="late-results"),
    path("session-reservation", client.SessionReservation.as_view(), name="session-reservation"),
    path("events", events.Feed.as_view(), name="feed"),
    path("runs/<run:run_id>/events", events.RunEvents.as_view(), name="events"),
    path("claims", runner.Claims.as_view(), name="claims"),
    path("runs/<run:run_id>/claim", runner.Claim.as_view(), name="claim"),
    path("renewals", runner.Renewals.as_view(), name="renewals"),
    path("runs/<run:run_id>/renew", runner.Renew.as_view(), name="renew"),
    path("runs/<run:run_id>/running", runner.Running.as_view(), name="running"),
    path("runs/<run:run_id>/park", runner.Park.as_view(), name="park"),
    path("runs/<run:run_id>/complete", runner.Complete.as_view(), name="complete"),
    path("runs/<run:run_id>/fail", runner.Fail.as_view(), name="fail"),
    path("runs/<run:run_id>/attempts", attempts.Attempts.as_view(), name="attempts"),
    path("runs/<run:run_id>/attempts/<attempt:attempt_id>/progress", attempts.Progress.as_view(), name="progress"),
    path(
        "runs/<run:run_id>/attempts/<attempt:attempt_id>/complete",
        attempts.CompleteAttempt.as_view(),
        name="complete-attempt",
    ),
    path("runs/<run:run_id>/attempts/<attempt:attempt_id>/fail", attempts.FailAttempt.as_view(), name="fail-attempt"),
    path("batch/reserve", batch.ReserveAll.as_view(), name="reserve-all"),
    path("batch/running", batch.RunningAll.as_view(), name="running-all"),
    path("batch/park", batch.ParkAll.as_view(), name="park-all"),
    path("batch/complete", batch.CompleteAll.as_view(), name="complete-all"),
    path("batch/fail", batch.FailAll.as_view(), name="fail-all"),
    *effects.urlpatterns,
    *bookkeeping.urlpatterns,
    *run_views.urlpatterns,
    *messages.urlpatterns,
    *interaction.urlpatterns,
    *decisions.urlpatterns,
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
    re_path(r"", Nowhere.as_view()),
]
