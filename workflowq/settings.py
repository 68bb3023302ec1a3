"""Django's settings, read from the environment (docs/settings.md lists the variables). Safe unless told otherwise."""

from pathlib import Path

import api.conf
from workflowq import databases, env
from workflowq.console import UNFOLD  # noqa: F401  # a setting, which the console's theme reads

BASE_DIR = Path(__file__).resolve().parent.parent
# Everything that this installation keeps: the SQLite file, the secret key, the demo runner's token.
VAR_DIR = Path(env.text("WORKFLOWQ_VAR", str(BASE_DIR / "var"))).resolve()
SECRET_KEY_FILE = VAR_DIR / "secret_key"

# --- Who may talk to us -----------------------------------------------------------------------------------------------

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
ALLOWED_HOSTS = env.words("WORKFLOWQ_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
# Pages of these origins may post forms and open websockets, besides those of the allowed hosts themselves.
CSRF_TRUSTED_ORIGINS = env.origins("WORKFLOWQ_ORIGINS")

DEBUG = env.flag("WORKFLOWQ_DEBUG")
# Empty where there is none; then checks.py refuses to start and says what to do.
SECRET_KEY = env.text("WORKFLOWQ_SECRET_KEY") or (
    SECRET_KEY_FILE.read_text().strip() if SECRET_KEY_FILE.is_file() else ""
)

# Plain HTTP is for the loopback address alone.
HTTPS = env.flag("WORKFLOWQ_HTTPS", not set(ALLOWED_HOSTS) <= LOOPBACK_HOSTS)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
# A balancer asks for health over plain HTTP.
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
# Only for servers behind a proxy that always sets this header itself: it would be believed from anyone.
if env.flag("WORKFLOWQ_BEHIND_PROXY"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Two deployment checks ask for rules that bind other hosts of the same domain; whoever owns the domain decides those.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

SESSION_COOKIE_NAME = "workflowq_session"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# Nothing is loaded from other hosts, and nothing inline runs. csp.py widens this for two addresses.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"

# --- What is installed ------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    # Before the admin, whose templates it replaces.
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "workflowq",
    "runs",
    "api",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "workflowq.csp.Policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "workflowq.urls"
ASGI_APPLICATION = "workflowq.asgi.application"
WSGI_APPLICATION = "workflowq.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

STATIC_URL = "static/"

# --- Where things are kept --------------------------------------------------------------------------------------------

DATABASES = {
    "default": databases.configured(
        env.text("DATABASE_URL", f"sqlite:///{VAR_DIR / 'workflowq.sqlite3'}"),
        base=BASE_DIR,
        pool=env.whole("WORKFLOWQ_DB_POOL", 10, high=500),
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.text("REDIS_URL")
CHANNEL_LAYERS: dict[str, dict[str, object]] = {
    "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}
    if REDIS_URL
    # One process only: other server processes would not hear it.
    else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}

# --- How it talks -----------------------------------------------------------------------------------------------------

USE_TZ = True
# How the console shows times; what is stored and what the API says is UTC whatever this is.
TIME_ZONE = env.time_zone("WORKFLOWQ_TIME_ZONE")
USE_I18N = False
LANGUAGE_CODE = "en"

LOG_LEVEL = env.choice("WORKFLOWQ_LOG_LEVEL", "INFO", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "filters": {"printable": {"()": "workflowq.logs.Printable"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["printable"]}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Django's own handlers would say everything twice.
        "django": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        # Anybody can send a wrong host as often as they like; the answer, 400, says enough.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # A line for each request is news about the client, not about the queue.
        "httpx": {"level": "WARNING"},
    },
}

# --- Limits -----------------------------------------------------------------------------------------------------------

_LIMITS = {
    "MAX_BODY_BYTES": 2 * 1024 * 1024,
    "MAX_JSON_DEPTH": 100,
    "MAX_DOCUMENT_BYTES": 1024 * 1024,
    "MAX_BATCH": 100,
    "PAGE_DEFAULT": 50,
    "PAGE_MAX": 200,
    "LEASE_MS_MIN": 1_000,
    "LEASE_MS_MAX": 3_600_000,
    "LEASE_MS_DEFAULT": 30_000,
}
WORKFLOWQ = {name: env.whole(f"WORKFLOWQ_{name}", default, low=1) for name, default in _LIMITS.items()}
# A body of the API is bounded by its parser; this bounds the console's forms.
DATA_UPLOAD_MAX_MEMORY_SIZE = WORKFLOWQ["MAX_BODY_BYTES"]

# --- What the wires set for the libraries that carry them -------------------------------------------------------------

REST_FRAMEWORK = api.conf.REST_FRAMEWORK
SPECTACULAR_SETTINGS = api.conf.SPECTACULAR_SETTINGS
