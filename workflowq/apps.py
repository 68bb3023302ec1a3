"""The Django app of the assembly: it brings the `up` command and the system checks."""

from django.apps import AppConfig


class WorkflowqConfig(AppConfig):
    name = "workflowq"
    verbose_name = "workflowq"

    def ready(self) -> None:
        """Register the system checks."""
        from workflowq import checks  # noqa: F401
