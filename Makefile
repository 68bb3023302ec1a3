# `make` alone lists the targets. Everything runs from .venv, which `make install` makes from the pinned requirements.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --require-hashes
PIN := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate $(UPGRADE)
# Two at a time: races need company, and laptops have more to do. Say ARGS="-k lease" to choose tests.
PYTEST := $(BIN)/python -m pytest -q -n 2 $(ARGS)
# What a careful installation says of itself.
SAFE := DATABASE_URL=sqlite://:memory: WORKFLOWQ_ALLOWED_HOSTS=queue.example \
	WORKFLOWQ_SECRET_KEY=for-checking-alone-0123456789-abcdefghijklmnopqrstuvwxyz

.DEFAULT_GOAL := help
.PHONY: help install up test test-long check format bench openapi pins clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/all.stamp ## make .venv with all that developing needs

up: .venv/app.stamp ## install, migrate, start the server and a demo runner; Ctrl-C stops them
	@exec $(BIN)/python manage.py up

test: .venv/all.stamp ## run the tests on SQLite, then on PostgreSQL
	@status=0; \
	WORKFLOWQ_TEST_DB=sqlite $(PYTEST) -m "not slow" || status=1; \
	WORKFLOWQ_TEST_DB=postgres $(PYTEST) -m "not slow" || status=1; \
	exit $$status

test-long: .venv/all.stamp ## the same with the slow tests
	@status=0; \
	WORKFLOWQ_TEST_DB=sqlite $(PYTEST) || status=1; \
	WORKFLOWQ_TEST_DB=postgres $(PYTEST) || status=1; \
	exit $$status

check: .venv/all.stamp ## style, types, import contracts, migrations, deployment checks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(SAFE) $(BIN)/python manage.py makemigrations --check --dry-run
	$(SAFE) $(BIN)/python manage.py check --deploy --fail-level WARNING

format: .venv/all.stamp ## put the code into the one style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: .venv/all.stamp ## measure the hot paths on both databases
	$(BIN)/python -m bench

openapi: .venv/all.stamp ## write docs/openapi.yaml from the code
	$(SAFE) $(BIN)/python manage.py spectacular --file docs/openapi.yaml --validate --fail-on-warn

pins: .venv/all.stamp ## write requirements/ from pyproject.toml; UPGRADE=--upgrade takes newer ones
	$(PIN) pyproject.toml -o requirements/app.txt
	$(PIN) pyproject.toml --group test --group check -c requirements/app.txt -o requirements/dev.txt

clean: ## remove .venv and what tools left; var/ stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "workflowq needs Python 3.11 or newer; say make PYTHON=python3.12, for example")'
	$(PYTHON) -m venv .venv

.venv/app.stamp: requirements/app.txt | .venv/bin/python
	$(PIP) -r requirements/app.txt
	@touch $@

.venv/all.stamp: requirements/dev.txt .venv/app.stamp
	$(PIP) -r requirements/dev.txt
	@touch $@
