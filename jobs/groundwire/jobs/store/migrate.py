"""Bringing the state's schema up to date, and refusing one that a newer groundwire wrote."""

from importlib.resources import as_file, files

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from groundwire.jobs.store.schema import metadata
from groundwire.scorer import ConfigError

__all__ = ["VERSION_TABLE", "migrate"]

VERSION_TABLE = "groundwire_version"
"""Holds the schema's revision, under a name that no other program's Alembic uses."""
LOCK = 0x67_77_73_74
"""Key of the PostgreSQL advisory lock under which one process at a time migrates (`gwst`)."""


def migrate(tx: Connection, *, to: str = "head") -> None:
    """Upgrade the schema inside the given transaction; nothing happens where it is current.

    Raises ConfigError where a newer groundwire wrote the schema, or where the database holds other tables of our names.
    """
    if tx.dialect.name == "postgresql":
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    with as_file(files("groundwire.jobs") / "migrations") as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = tx
        scripts = ScriptDirectory.from_config(config)
        now = MigrationContext.configure(tx, opts={"version_table": VERSION_TABLE}).get_current_revision()
        if now is None:
            taken = sorted(set(inspect(tx).get_table_names()) & set(metadata.tables))
            if taken:
                raise ConfigError(
                    f"state.url names a database with a table {taken[0]!r} that groundwire did not make: "
                    "give groundwire a database or a schema of its own"
                )
        elif now not in {script.revision for script in scripts.walk_revisions()}:
            raise ConfigError(
                f"the state was written by a newer groundwire (schema {now}): upgrade groundwire, or change state.url"
            )
        if now != scripts.get_current_head():
            command.upgrade(config, to)
