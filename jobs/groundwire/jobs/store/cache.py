"""Judges' replies by the digest of what was asked."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache

from sqlalchemy import Connection, select

from groundwire.jobs.store.schema import Insert, insert_for, judge_cache

__all__ = ["find", "keep"]


@cache
def _keep_statement(dialect: str) -> Insert:
    return insert_for(dialect, judge_cache).on_conflict_do_nothing(index_elements=["key"])


def keep(tx: Connection, entries: Mapping[str, str], *, trace_id: str | None, now: datetime) -> None:
    """Store replies; one that is there already stays."""
    tx.execute(
        _keep_statement(tx.dialect.name),
        [
            {"key": key, "value": value, "trace_id": trace_id, "created_at": now}
            for key, value in sorted(entries.items())
        ],
    )


def find(tx: Connection, keys: Iterable[str]) -> dict[str, str]:
    """The replies that are there, by key."""
    found = tx.execute(select(judge_cache.c.key, judge_cache.c.value).where(judge_cache.c.key.in_(list(keys))))
    return {row.key: row.value for row in found}
