# `make check` runs everything that CI runs.
PYTHON ?= python

.PHONY: check format lint types imports test schema

check: lint types imports test

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

imports:
	$(PYTHON) -m importlinter.cli

test:
	$(PYTHON) -m pytest -q

schema:
	$(PYTHON) -m bench.cli schema > configs/schema/tokbench.schema.json
