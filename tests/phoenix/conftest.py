"""The server that all tests here share; without one they are skipped."""

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.phoenix.server import VARIABLE, Phoenix, serving


@pytest.fixture(scope="session")
def phoenix_command() -> str:
    given = os.environ.get(VARIABLE, "")
    if not given or given.startswith("http"):
        pytest.skip(f"starts a Phoenix of its own: make test-phoenix, or {VARIABLE}=…/bin/phoenix")
    return given


@pytest.fixture(scope="session")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Phoenix]:
    given = os.environ.get(VARIABLE, "")
    if not given:
        pytest.skip(f"needs a real Phoenix: make test-phoenix, or {VARIABLE}=http://…")
    with ExitStack() as stack:
        started = None if given.startswith("http") else serving(given, tmp_path_factory.mktemp("phoenix"))
        phoenix = Phoenix(given if started is None else stack.enter_context(started))
        stack.callback(phoenix.http.close)
        yield phoenix


@pytest.fixture
def project(phoenix: Phoenix) -> Iterator[str]:
    """A project of its own; on one server, a trace's id is in one project alone."""
    name = phoenix.new_project()
    yield name
    phoenix.delete_project(name)
