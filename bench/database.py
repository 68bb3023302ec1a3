"""A migrated database for a measurement, with a project in it."""

import django
from django.core.management import call_command


def ready() -> None:
    """Set Django up on the database of DATABASE_URL and migrate it."""
    django.setup()
    call_command("migrate", verbosity=0)
