"""What the console's pages are made of: the theme's classes at run time, to mypy the admin's own, which have types.

Also the one for models that nobody edits by hand.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

if TYPE_CHECKING:
    from django import forms
    from django.contrib import admin
    from django.contrib.admin.views.main import ChangeList
    from django.contrib.auth.admin import UserAdmin as PlainUserAdmin
    from django.contrib.auth.models import User
    from django.core.paginator import Paginator

    ModelAdmin: TypeAlias = admin.ModelAdmin[Any]
    UserAdmin: TypeAlias = PlainUserAdmin[User]
    DropdownFilter: TypeAlias = admin.SimpleListFilter
    TextFilter: TypeAlias = admin.SimpleListFilter
    InfinitePaginator: TypeAlias = Paginator[Any]
    ModelMultipleChoiceField: TypeAlias = forms.ModelMultipleChoiceField[Any]
else:
    from django.contrib.auth.admin import UserAdmin
    from django.forms import ModelMultipleChoiceField
    from unfold.admin import ModelAdmin
    from unfold.contrib.filters.admin import DropdownFilter, TextFilter
    from unfold.paginator import InfinitePaginator
    from unfold.views import ChangeList

__all__ = [
    "ChangeList",
    "DropdownFilter",
    "InfinitePaginator",
    "ModelAdmin",
    "ModelMultipleChoiceField",
    "ReadOnlyAdmin",
    "TextFilter",
    "UserAdmin",
    "ticked",
    "whole",
]


_LONGEST_KEY = 18


def whole(text: str) -> int | None:
    """A key or sequence number as addresses and forms spell it; None where it can't be one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_KEY else None


def ticked(request: HttpRequest) -> list[int]:
    """The keys of the rows that were ticked. A 400 where one is none."""
    keys = [whole(text) for text in request.POST.getlist(ACTION_CHECKBOX_NAME)]
    if None in keys:
        raise BadRequest("A tick is not the key of a row.")
    return [key for key in keys if key is not None]


class ReadOnlyAdmin(ModelAdmin):
    """Lists and shows; adds, edits and deletes nothing. Never counts a table."""

    paginator = InfinitePaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 50
    list_fullwidth = True
    # "All that match" would be any number of rows.
    list_disable_select_all = True
    actions_selection_counter = True
    sortable_by = ()

    def response_action(self, request: HttpRequest, queryset: Any, *options: Any) -> HttpResponse | None:
        """Do the chosen action. A 400 where a tick is no key, which the database would choke on."""
        ticked(request)
        return super().response_action(request, queryset, *options)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
