"""The server's settings as the tests want them: the same rules, without the waits that only real data deserves."""

import os

os.environ.setdefault("WORKFLOWQ_SECRET_KEY", "a key for tests alone, which guards nothing at all")

from workflowq.settings import *  # noqa: F403
from workflowq.settings import DATABASES, LOGGING

# Hashing well takes a third of a second a password.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

LOGGING = {**LOGGING, "root": {"handlers": [], "level": "DEBUG"}}

_options = DATABASES["default"]["OPTIONS"]
if "init_command" in _options:
    # A power cut may cost the test database.
    _options["init_command"] = _options["init_command"].replace("synchronous=FULL", "synchronous=OFF")
    # A file, which threads and processes can share, as in production; the plugin names a fresh folder for it.
    DATABASES["default"]["TEST"] = {"NAME": DATABASES["default"]["NAME"]}
