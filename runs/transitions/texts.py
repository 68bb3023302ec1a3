"""The last look at plain text before it is stored: what one of the databases can't keep is refused, whatever it is."""

from dataclasses import fields, is_dataclass

from runs import canonical, errors


def check(value: object) -> None:
    """Refuse text with U+0000 or half a surrogate pair: a text, or any text member of a dataclass.

    Documents are not looked into, since they are checked as they are written; nor are the items of a batch, of which
    each is checked for itself.
    """
    if isinstance(value, str):
        _check(value, "")
    elif is_dataclass(value):
        for member in fields(value):
            text = getattr(value, member.name)
            if isinstance(text, str):
                _check(text, f"/{member.name}")


def _check(text: str, place: str) -> None:
    try:
        canonical.check_text(text, place=place)
    except canonical.DocumentError as error:
        raise errors.InvalidDocument(error.message, code=error.code, place=error.place) from None
