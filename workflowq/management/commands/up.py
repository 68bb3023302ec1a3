"""`manage.py up`: the quick start. One server, one sweeper and one demo runner, in the foreground, on loopback."""

import os
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from workflowq import bootstrap, env
from workflowq.checks import refuse_unsafe
from workflowq.children import ChildEnded, Children, Stopped

HOST = "127.0.0.1"
START_SECONDS = 60.0
# The runner gives its steps ten seconds to end and then hands its runs back.
RUNNER_GRACE_SECONDS = 15.0
SERVER_GRACE_SECONDS = 10.0
# A child that dies so often in so short a time would die again.
RESTARTS, RESTARTS_SECONDS = 5, 60.0


class Command(BaseCommand):
    help = "Prepare what is missing, then serve the console and the API and run the demo, until Ctrl-C."
    # They need the secret key, which the first start makes.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare, then stay in the foreground."""
        port = env.whole("PORT", 8000, low=1, high=65535)
        # What is made from here on, by the children too, is for this account alone.
        os.umask(0o077)
        _prepare()
        _refuse_busy(port)
        call_command("migrate", interactive=False, verbosity=0)
        password = bootstrap.operator()
        token = bootstrap.runner_token(bootstrap.project(), _token_file())
        connections.close_all()
        with Children(settings.BASE_DIR, _environment(port)) as children:
            try:
                self._serve(children, port, password, token)
            except Stopped:
                self._say("Stopping.")
            except ChildEnded as ended:
                raise CommandError(str(ended)) from None
        self._say("Stopped.")

    def _serve(self, children: Children, port: int, password: str | None, token: str | None) -> None:
        children.start("server", _server(port), grace_seconds=SERVER_GRACE_SECONDS + 5)
        _wait_until_healthy(children, port)
        self._introduce(port, password, token)
        manage = str(settings.BASE_DIR / "manage.py")
        children.start("sweeper", [sys.executable, manage, "sweep"], grace_seconds=SERVER_GRACE_SECONDS)
        python = [sys.executable, "-m"]
        children.start(
            "runner",
            [*python, "workflowq.runner", "workflowq.demo", "--concurrency", "2"],
            grace_seconds=RUNNER_GRACE_SECONDS,
        )
        if code := children.run("submission", [*python, "workflowq.demo.submit"], grace_seconds=5):
            raise ChildEnded(f"The demo runs could not be submitted (exit code {code}).")
        self._say("The demo runs are submitted. Ctrl-C stops everything.")
        self._keep_up(children)

    def _keep_up(self, children: Children) -> None:
        """Start a runner or sweeper that died again, as a supervisor would: the runs that it held are taken over."""
        restarts: deque[float] = deque(maxlen=RESTARTS)
        while True:
            try:
                children.wait()
            except ChildEnded as ended:
                now = time.monotonic()
                is_looping = len(restarts) == RESTARTS and now - restarts[0] < RESTARTS_SECONDS
                if ended.child is None or ended.child.name == "server" or is_looping:
                    raise
                self._say(f"{ended} It is started again.")
                restarts.append(now)
                children.restart(ended.child)

    def _introduce(self, port: int, password: str | None, token: str | None) -> None:
        shown_once = "shown this once; change it with `.venv/bin/python manage.py changepassword operator`"
        kept = "as set before; `.venv/bin/python manage.py changepassword operator` sets a new one"
        self._say(f"Console   http://{HOST}:{port}/console/")
        self._say(f"Login     {bootstrap.OPERATOR}")
        self._say(f"Password  {password} ({shown_once})" if password else f"Password  {kept}")
        self._say(f"API       http://{HOST}:{port}/api/v1/ (docs under /api/v1/docs)")
        if token:
            self._say(f"Token     {token} (shown this once; the demo runner reads it from {_token_file()})")
        else:
            self._say(f"Token     as before, in {_token_file()}")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _token_file() -> Path:
    file: Path = settings.VAR_DIR / "runner_token"
    return file


def _prepare() -> None:
    bootstrap.private_folder(settings.VAR_DIR)
    if not os.environ.get("WORKFLOWQ_SECRET_KEY"):
        settings.SECRET_KEY = bootstrap.secret_key(settings.SECRET_KEY_FILE)
    try:
        refuse_unsafe(asgi=True)
    except ImproperlyConfigured as refusal:
        raise CommandError(str(refusal)) from None
    if settings.HTTPS:
        raise CommandError(
            f"`up` serves plain HTTP on {HOST}: leave WORKFLOWQ_ALLOWED_HOSTS to loopback hosts and WORKFLOWQ_HTTPS "
            "off, or start workflowq.asgi:application with a server of your own."
        )


def _refuse_busy(port: int) -> None:
    with socket.socket() as probe:
        # As the server will do: a port that a server has just left is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as refusal:
            raise CommandError(
                f"Port {port} can't be had ({refusal.strerror}). "
                f"Stop what uses it, or choose another: PORT={port + 1} make up"
            ) from None


def _environment(port: int) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name != "WORKFLOWQ_TOKEN"}
    return {
        **inherited,
        "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "workflowq.settings"),
        "WORKFLOWQ_URL": f"http://{HOST}:{port}",
        "WORKFLOWQ_TOKEN_FILE": str(_token_file()),
    }


def _server(port: int) -> list[str]:
    address = ["--host", HOST, "--port", str(port)]
    quiet = ["--log-level", "warning", "--no-access-log", "--no-server-header", "--lifespan", "off"]
    grace = ["--timeout-graceful-shutdown", str(int(SERVER_GRACE_SECONDS))]
    return [sys.executable, "-m", "uvicorn", "workflowq.asgi:application", *address, *quiet, *grace]


def _wait_until_healthy(children: Children, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    # Not through a proxy that the environment may name.
    with httpx.Client(trust_env=False, timeout=5) as client:
        while time.monotonic() < deadline:
            children.wait(0.1)
            try:
                if client.get(f"http://{HOST}:{port}/healthz").is_success:
                    return
            except httpx.TransportError:
                continue
    raise ChildEnded(f"The server did not answer within {START_SECONDS:g} seconds.")
