"""What the list of runs shows, read from its page; and lists long enough to have pages."""

import re

from django.test import Client

from runs import transitions
from tests.builders import RunBuilder
from tests.console.addresses import RUN_LIST


def ids(client: Client, query: str = "") -> list[str]:
    """The run ids that the list shows, in its order."""
    response = client.get(RUN_LIST + query)
    assert response.status_code == 200, response.status_code
    return re.findall(r'wq-link" href="/console/runs/run/\d+/change/" title="([^"]+)"', response.content.decode())


def link(client: Client, query: str, text: str) -> str | None:
    """Where the pager's link of that text leads from this page."""
    html = client.get(RUN_LIST + query).content.decode()
    found = re.search(rf'<a href="(\?[^"]*)"[^>]*>{text}</a>', html)
    return found[1].replace("&amp;", "&") if found else None


def queue_many(runs: RunBuilder, number: int) -> None:
    """So many queued runs, made at one moment."""
    asked = [runs.reservation() for _ in range(number)]
    for start in range(0, number, transitions.BATCH_LIMIT):
        transitions.reserve_all(runs.project, asked[start : start + transitions.BATCH_LIMIT])
