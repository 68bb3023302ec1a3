"""Access tokens: listed, issued with their secret shown once, revoked. Never edited or deleted."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db.models import Case, CharField, Q, Value, When
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from runs import clock, errors, transitions
from runs.admin import labels, times
from runs.admin.text import NOTHING, counted, identifier, visible
from runs.admin.theme import ReadOnlyAdmin, ticked
from runs.admin.token_form import PERSONAL, TokenForm
from runs.models import AccessToken


@admin.register(AccessToken)
class AccessTokenAdmin(ReadOnlyAdmin):
    list_display = (
        "token_name",
        "state_label",
        "project_path",
        "belongs_to",
        "granted",
        "expires",
        "last_used",
        "created",
    )
    list_display_links = None
    list_select_related = ("project", "user")
    ordering = ("-created_at", "-pk")
    fields = readonly_fields = list_display
    actions = ("revoke_tokens",)

    def get_queryset(self, request: HttpRequest) -> Any:
        state = Case(
            When(revoked_at__isnull=False, then=Value("revoked")),
            When(Q(expires_at__lte=clock.now()), then=Value("expired")),
            default=Value("active"),
            output_field=CharField(),
        )
        return super().get_queryset(request).annotate(state=state)

    def has_add_permission(self, request: HttpRequest) -> bool:
        user: Any = request.user
        return bool(user.has_perm("runs.add_accesstoken"))

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Whether this account may end tokens."""
        user: Any = request.user
        return bool(user.has_perm("runs.change_accesstoken"))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return False

    # --- Columns --------------------------------------------------------------------------------------------------

    @admin.display(description="name")
    def token_name(self, token: AccessToken) -> SafeString:
        return identifier(token.name)

    @admin.display(description="state")
    def state_label(self, token: Any) -> SafeString:
        return labels.label(token.state)

    @admin.display(description="project")
    def project_path(self, token: AccessToken) -> SafeString:
        return identifier(token.project.path)

    @admin.display(description="belongs to")
    def belongs_to(self, token: AccessToken) -> SafeString:
        return identifier(token.user.get_username()) if token.user else format_html("{}", "service")

    @admin.display(description="scopes")
    def granted(self, token: AccessToken) -> SafeString:
        return format_html_join(" ", '<span class="wq-scope">{}</span>', ((scope,) for scope in token.scopes.split()))

    @admin.display(description="expires")
    def expires(self, token: AccessToken) -> str:
        return times.day(token.expires_at) if token.expires_at else "never"

    @admin.display(description="last used")
    def last_used(self, token: AccessToken) -> str:
        return times.day(token.last_used_at) if token.last_used_at else NOTHING

    @admin.display(description="created")
    def created(self, token: AccessToken) -> str:
        return times.day(token.created_at)

    # --- Issuing and revoking -------------------------------------------------------------------------------------

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Issues a token. Its secret is in this one answer, which nothing keeps."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = TokenForm(request.POST if request.method == "POST" else None)
        if form.is_valid() and (issued := self._issued(request, form)):
            token, secret = issued
            self.log_addition(request, token, "Issued.")
            return self._page(request, "console/token_secret.html", token_name=visible(token.name), secret=secret)
        return self._page(request, "console/token_form.html", form=form)

    def _issued(self, request: HttpRequest, form: TokenForm) -> tuple[AccessToken, str] | None:
        asked = form.cleaned_data
        days = asked["lifetime_days"]
        try:
            return transitions.issue_access_token(
                asked["project"],
                asked["name"],
                asked["scopes"],
                user=request.user if asked["kind"] == PERSONAL else None,
                expires_at=clock.now() + timedelta(days=int(days)) if days else None,
            )
        except errors.TokenNameTaken as refusal:
            form.add_error("name", refusal.detail)
        except errors.Refusal as refusal:
            form.add_error(None, refusal.detail)
        return None

    @admin.action(permissions=["revoke"], description="Revoke")
    def revoke_tokens(self, request: HttpRequest, queryset: Any) -> HttpResponse:
        """Asks before it ends the ticked tokens' use."""
        tokens = list(self.get_queryset(request).filter(pk__in=ticked(request)).select_related("project"))
        if "confirmed" in request.POST:
            for token in tokens:
                transitions.revoke_access_token(token)
                self.log_change(request, token, "Revoked.")
            self.message_user(request, f"{counted(len(tokens), 'token')} revoked.", messages.SUCCESS)
            return HttpResponseRedirect(request.get_full_path())
        return self._page(
            request,
            "console/confirm.html",
            heading=f"Revoke {counted(len(tokens), 'token')}?",
            explanation="Whoever uses them is refused from now on. A revoked token never comes back.",
            rows=[(t.pk, identifier(t.name), identifier(t.project.path), labels.label(t.state), "") for t in tokens],
            button="Revoke",
            allowed=bool(tokens),
            action="revoke_tokens",
            back=request.get_full_path(),
            checkbox_name=ACTION_CHECKBOX_NAME,
        )

    def _page(self, request: HttpRequest, template: str, **context: Any) -> TemplateResponse:
        request.current_app = self.admin_site.name
        return TemplateResponse(
            request, template, {**self.admin_site.each_context(request), "opts": self.opts, **context}
        )
