"""The rows: what was found about each partition, with its history."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Connection, RowMapping, Select, func, literal, select, tuple_

from groundwire.jobs.store.engine import Store
from groundwire.jobs.store.schema import Time, rows
from groundwire.scorer import Row, Status

__all__ = ["RowQuery", "StoredRow", "find", "history", "is_judged", "pages", "tally"]


@dataclass(frozen=True, kw_only=True)
class StoredRow:
    """A row with what the state knows beside it."""

    row: Row
    evaluator: str
    work_id: str
    content_hash: str
    inclusion: float
    """Probability, in (0, 1], with which sampling let it in: reports weigh by its inverse."""
    run_id: str | None
    user_id: str | None
    trace_time: datetime | None
    facts: Mapping[str, JsonValue]
    """Of the trace: environment, tags, release, model, latency, cost."""
    superseded_at: datetime | None
    """None for the current row of its partition."""
    superseded_by: str | None
    text_pruned: bool
    """True where only hashes, labels and offsets are left."""


@dataclass(frozen=True, kw_only=True)
class RowQuery:
    """Which rows: every field narrows, None doesn't."""

    evaluator: str | None = None
    status: Status | None = None
    reason: str | None = None
    label: str | None = None
    score_min: float | None = None
    """Least score, inclusive; in [0, 1]."""
    score_max: float | None = None
    """Greatest score, inclusive; in [0, 1]."""
    since: datetime | None = None
    """Least time of judging, inclusive."""
    until: datetime | None = None
    """Greatest time of judging, exclusive."""
    trace_since: datetime | None = None
    """Least time of the trace, inclusive."""
    trace_until: datetime | None = None
    """Greatest time of the trace, exclusive."""
    trace_id: str | None = None
    run_id: str | None = None
    history: bool = False
    """True for the superseded rows as well."""


def _where(query: RowQuery) -> Select[tuple[object, ...]]:
    equal = {
        name: value
        for name in ("evaluator", "status", "reason", "label", "trace_id", "run_id")
        if (value := getattr(query, name)) is not None
    }
    statement = select(rows).where(*(rows.c[name] == value for name, value in equal.items()))
    if query.score_min is not None:
        statement = statement.where(rows.c.score >= query.score_min)
    if query.score_max is not None:
        statement = statement.where(rows.c.score <= query.score_max)
    if query.since is not None:
        statement = statement.where(rows.c.created_at >= query.since)
    if query.until is not None:
        statement = statement.where(rows.c.created_at < query.until)
    if query.trace_since is not None:
        statement = statement.where(rows.c.trace_time >= query.trace_since)
    if query.trace_until is not None:
        statement = statement.where(rows.c.trace_time < query.trace_until)
    if not query.history:
        statement = statement.where(rows.c.superseded_at.is_(None))
    return statement


def _stored(row: RowMapping) -> StoredRow:
    return StoredRow(
        row=Row.model_validate_json(row["body"]),
        **{
            name: row[name]
            for name in (
                "evaluator",
                "work_id",
                "content_hash",
                "inclusion",
                "run_id",
                "user_id",
                "trace_time",
                "facts",
                "superseded_at",
                "superseded_by",
                "text_pruned",
            )
        },
    )


async def pages(
    store: Store, query: RowQuery, *, size: int = 500, newest_first: bool = False
) -> AsyncIterator[list[StoredRow]]:
    """The rows in the order in which they were judged, at most `size` in memory at once.

    Each page is a read of its own: rows that are stored meanwhile come in where their time puts them.
    """
    place = (rows.c.created_at, rows.c.row_id)
    last: StoredRow | None = None
    while True:
        statement = _where(query).limit(size)
        statement = statement.order_by(*(column.desc() if newest_first else column for column in place))
        if last is not None:
            here = tuple_(
                literal(last.row.created_at, Time), last.row.row_id
            )  # untyped, SQLite gets another form of time
            statement = statement.where(tuple_(*place) < here if newest_first else tuple_(*place) > here)
        page = await store.read(_page, statement)
        if page:
            yield page
        if len(page) < size:
            return
        last = page[-1]


def _page(tx: Connection, statement: Select[tuple[object, ...]]) -> list[StoredRow]:
    return [_stored(row) for row in tx.execute(statement).mappings()]


def find(tx: Connection, row_id: str) -> StoredRow | None:
    """A row by its id."""
    found = tx.execute(select(rows).where(rows.c.row_id == row_id)).mappings().first()
    return None if found is None else _stored(found)


def history(tx: Connection, work_id: str) -> list[StoredRow]:
    """Every row of an evaluator's partition, the newest first.

    A judged row with `superseded_at` whose content is there again needs no new judgement: `outcomes.restore` makes it
    current again.
    """
    statement = select(rows).where(rows.c.work_id == work_id).order_by(rows.c.created_at.desc(), rows.c.row_id)
    return [_stored(row) for row in tx.execute(statement).mappings()]


def is_judged(status: Status, reason: str | None) -> bool:
    """Whether a row says that its content was judged: an error and what the cap left out don't."""
    return status in ("scored", "unknown", "invalid") or (status == "skipped" and reason != "over_budget")


def tally(tx: Connection, query: RowQuery) -> dict[tuple[str, str, str | None], int]:
    """How many rows match, by (evaluator, status, reason)."""
    chosen = _where(query).subquery()
    names = (chosen.c.evaluator, chosen.c.status, chosen.c.reason)
    return {tuple(row[:3]): row[3] for row in tx.execute(select(*names, func.count()).group_by(*names))}
