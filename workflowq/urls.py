"""The addresses of the whole server."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from api.endpoint import Nowhere
from workflowq.health import healthz

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("healthz", healthz, name="healthz"),
    path("api/v1/", include("api.urls")),
    re_path(r"^api/", Nowhere.as_view()),
    path("console/", admin.site.urls),
]
