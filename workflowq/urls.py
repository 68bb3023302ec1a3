"""The addresses of the whole server."""

from django.contrib import admin
from django.http import Http404
from django.urls import include, path, re_path
from django.views.defaults import page_not_found
from django.views.generic import RedirectView

from api.endpoint import Nowhere
from workflowq.health import healthz

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("healthz", healthz, name="healthz"),
    path("api/v1/", include("api.urls")),
    re_path(r"^api/", Nowhere.as_view()),
    # The theme's own search over everything, which nothing here uses.
    path("console/search/", page_not_found, {"exception": Http404()}),
    path("console/", admin.site.urls),
]
