# Each target does its own set-up in .venv from python3 alone.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check

.PHONY: demo test lint bench
demo: .venv/.ready
	$(BIN)/groundwire demo

test: .venv/.dev
	$(BIN)/python -m pytest -n 2 -q

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: .venv/.dev
	$(BIN)/python -m tests.benchmarks

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "groundwire needs Python 3.11 or newer")'
	$(PYTHON) -m venv --clear .venv
	$(PIP) 'pip>=25.1'
	$(PIP) -c constraints.txt -e .
	touch $@

.venv/.dev: .venv/.ready
	$(PIP) -c constraints.txt --group dev
	touch $@
