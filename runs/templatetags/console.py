"""What the console's templates say themselves: one filter, for text that others wrote."""

from django import template
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def visible(value: object) -> SafeString:
    """The value's text, escaped, with nothing invisible in it."""
    # Templates are looked for before the admin's modules can be loaded.
    from runs.admin import text

    return text.visible(str(value))
