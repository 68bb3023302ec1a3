"""The addresses of the whole server."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from workflowq.health import healthz

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("healthz", healthz, name="healthz"),
    path("api/v1/", include("api.urls")),
    path("console/", admin.site.urls),
]
