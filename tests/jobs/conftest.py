"""The state database of the jobs' tests: every test that asks for `store` runs on SQLite and on PostgreSQL."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, make_url, text
from tests.postgres import own_schema

from groundwire.jobs.store import Store, open_store
from groundwire.jobs.store.schema import metadata

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def make_state(url: str) -> None:
    await (await open_store(url)).close()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that is not there yet."""
    return f"sqlite:///{tmp_path / 'state.db'}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def new_url(request: pytest.FixtureRequest) -> str:
    """Where there is no state yet."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture(scope="session")
def sqlite_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty state, made once."""
    path = tmp_path_factory.mktemp("state") / "state.db"
    asyncio.run(make_state(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_state(postgres_server: str) -> Iterator[str]:
    """A PostgreSQL schema that holds a state, made once."""
    with own_schema(postgres_server) as url:
        asyncio.run(make_state(url))
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty state."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_state"), tmp_path / "state.db")
        return f"sqlite:///{tmp_path / 'state.db'}"
    url = str(request.getfixturevalue("postgres_state"))
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text(f"TRUNCATE {', '.join(metadata.tables)}"))
    return url


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """An empty state, open."""
    opened = await open_store(store_url)
    yield opened
    await opened.close()
