"""A reader that follows the project's feed while many write: it misses nothing and sees nothing twice."""

import threading
from functools import partial
from itertools import count

from django.db import connection, transaction

from runs import reading, transitions
from runs.models import Event, Project
from runs.reading import FeedPosition
from runs.transitions import Note
from tests.builders import OPERATOR, Made, RunBuilder
from tests.races.meeting import Crowd

WRITERS = 8


class _Undone(Exception):
    """The transaction is rolled back."""


def write(made: Made, times: int) -> None:
    """Notes, every third of which is rolled back after its number was taken."""
    for number in range(times):
        try:
            with transaction.atomic():
                transitions.record_event(made.project, Note(made.run_id, f"note {number}"), OPERATOR)
                if number % 3 == 2:
                    raise _Undone
        except _Undone:
            continue


def follow(project: Project, is_over: threading.Event) -> list[int]:
    """The numbers of all events in the order in which the feed gave them, page by page."""
    seen: list[int] = []
    position = FeedPosition()
    for _ in count():
        was_over = is_over.is_set()
        page = list(reading.feed(project, position)[:7])
        if page:
            position = FeedPosition(page[-1].transaction_id, page[-1].pk)
            seen += [event.pk for event in page]
        elif was_over:
            return seen
    raise AssertionError("unreachable")


def test_a_reader_misses_nothing_of_what_many_write(project: Project, make: RunBuilder, rounds: int) -> None:
    runs, is_over = make.many(WRITERS), threading.Event()
    times = rounds // WRITERS
    seen: list[int] = []

    def read() -> None:
        seen.extend(follow(project, is_over))
        connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    with Crowd(WRITERS) as crowd:
        crowd.at_once(*[partial(write, made, times) for made in runs])
    is_over.set()
    reader.join(60)

    stored = set(Event.objects.filter(project=project).values_list("pk", flat=True))
    assert not reader.is_alive()
    assert len(seen) == len(set(seen))
    assert set(seen) == stored
