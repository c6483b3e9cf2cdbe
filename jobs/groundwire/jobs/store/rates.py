"""What rates are made of: the current rows of a stretch of time, streamed trace by trace."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue
from sqlalchemy import Connection, func, select

from groundwire.jobs.store.schema import rows
from groundwire.scorer import Row

__all__ = ["RateRow", "judge_of_row", "rate_rows"]

PAGE = 5_000
"""Rows held at once."""


class RateRow(NamedTuple):
    """A row without its texts."""

    trace_id: str
    evaluator: str
    metric: str
    metric_version: str
    partition_type: str
    fingerprint: str
    row_id: str
    status: str
    reason: str | None
    score: float | None
    label: str | None
    inclusion: float
    at: datetime
    """When the trace began; where that isn't known, when it was judged."""
    facts: Mapping[str, JsonValue]


def rate_rows(tx: Connection, *, since: datetime, until: datetime, evaluator: str | None = None) -> Iterator[RateRow]:
    """The current rows of traces that began in `[since, until)`, all of one trace in a row."""
    at = func.coalesce(rows.c.trace_time, rows.c.created_at, type_=rows.c.created_at.type)
    names = RateRow._fields[: RateRow._fields.index("at")]
    statement = select(*(rows.c[name] for name in names), at.label("at"), rows.c.facts).where(
        rows.c.superseded_at.is_(None), at >= since, at < until
    )
    if evaluator is not None:
        statement = statement.where(rows.c.evaluator == evaluator)
    # sorted, not read along an index: the index would fetch every row from another place of a large table
    statement = statement.order_by(rows.c.trace_id.concat(""))
    for row in tx.execute(statement.execution_options(yield_per=PAGE)):
        yield RateRow._make(row)


def judge_of_row(tx: Connection, row_id: str) -> dict[str, JsonValue]:
    """The identity of the judge of a row: kind, model, prompt digest, parameters."""
    body = tx.scalar(select(rows.c.body).where(rows.c.row_id == row_id))
    judge = Row.model_validate_json(body).judge if body else {}
    return {name: judge[name] for name in ("kind", "model", "prompt_digest", "parameters") if name in judge}
