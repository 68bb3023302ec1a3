"""What tests of every part may use."""

import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn

from tests import by_hand


@pytest.fixture(autouse=True)
def nothing_by_hand() -> None:
    """Rows of an earlier test may have had the same keys."""
    by_hand.forget()


@pytest.fixture
def server(transactional_db: None) -> Iterator[str]:
    """The address of the whole server under ASGI on the test's own database, in a thread."""
    from workflowq.asgi import application

    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, lifespan="off", log_level="error", timeout_graceful_shutdown=5)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, args=([listening],), name="server")
    thread.start()
    # Connections wait in the socket's own queue until the server takes them: nothing to poll for.
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    running.should_exit = True
    thread.join()
    listening.close()
