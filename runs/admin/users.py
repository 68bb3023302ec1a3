"""The accounts of people, for superusers alone: who may change accounts may give themselves every right.

None is ever deleted: events name them, and a name must not pass to somebody else.
"""

from typing import Any, Final

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.contrib.auth.models import Group, Permission, User
from django.db.models import ManyToManyField, Q
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from runs.admin import theme
from runs.admin.widgets import CHECKBOXES

# What the console asks for, in its own words. Staff without any of these see an empty console.
_PERMISSIONS: Final = {
    ("runs", "view_run"): "See runs",
    ("runs", "control_run"): "Cancel runs",
    ("runs", "view_project"): "See projects",
    ("runs", "view_accesstoken"): "See access tokens",
    ("runs", "add_accesstoken"): "Issue access tokens",
    ("runs", "change_accesstoken"): "Revoke access tokens",
}

admin.site.unregister(User)
admin.site.unregister(Group)


def is_superuser(request: HttpRequest) -> bool:
    """Whether the account has every right, and is in use."""
    user: Any = request.user
    return bool(user.is_active and user.is_superuser)


class PermissionsField(theme.ModelMultipleChoiceField):
    """The permissions that mean something here, as checkboxes."""

    def label_from_instance(self, obj: Any) -> str:
        return _PERMISSIONS[obj.content_type.app_label, obj.codename]


@admin.register(User)
class UserAdmin(theme.UserAdmin, theme.ModelAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    paginator = theme.InfinitePaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_disable_select_all = True
    list_display = ("username", "first_name", "last_name", "is_active", "is_staff", "is_superuser")
    list_filter = ("is_active", "is_staff", "is_superuser")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        ("Permissions", {"fields": ("is_active", "is_staff", "is_superuser", "user_permissions")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_superuser(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def formfield_for_manytomany(
        self, db_field: "ManyToManyField[Any, Any]", request: HttpRequest, **options: Any
    ) -> theme.ModelMultipleChoiceField:
        """The one many-to-many field that the form has: the permissions."""
        known = Q()
        for app, codename in _PERMISSIONS:
            known |= Q(content_type__app_label=app, codename=codename)
        permissions = Permission.objects.filter(known).select_related("content_type").order_by("content_type", "pk")
        return PermissionsField(permissions, required=False, widget=CHECKBOXES, label="May")
