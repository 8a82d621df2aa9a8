# `make check` runs everything that CI runs. It needs no activated environment: an environment in
# .venv is used where there is one.
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,$(if $(shell command -v python),python,python3))

.PHONY: check format lint types imports test proof docs site readme example picture claims

check: lint types imports test

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

# import-linter is a console script only: `python -m importlinter.cli` would check nothing.
imports:
	$(PYTHON) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

test:
	$(PYTHON) -m pytest -q -n auto

# Long proofs, on the folders TOKBENCH_DATA and TOKBENCH_CASES.
proof:
	$(PYTHON) -m pytest -q -n auto -m "real or long"

# What is generated from the code: the JSON schema, the metrics of the glossary, the commands.
docs:
	$(PYTHON) docs/refresh.py

# The pages as a site in build/site; a broken link is an error (extra: docs).
site:
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict --quiet

# docs/examples/terminal.svg, from a pseudo-terminal (Linux and macOS; extra: samples).
picture:
	$(PYTHON) docs/picture.py

# docs/claims.md; measured on the folder DATA.
claims:
	$(PYTHON) docs/refresh.py --claims $(DATA)

# The output of `tokbench run quick` in README.md; takes a run.
readme:
	$(PYTHON) docs/refresh.py --readme

# docs/examples/page.html, the page of a run of docs/examples/page.yaml; takes a run.
example:
	$(PYTHON) docs/refresh.py --example
