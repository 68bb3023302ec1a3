"""What the queue tells the outside, after commit. Listeners can't undo or fail a transition."""

from django.dispatch import Signal

# Sent once per transaction with `moved`: the list of (project id, run key, run id) that events were written for.
runs_moved = Signal()
