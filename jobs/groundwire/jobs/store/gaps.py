"""What was not looked at, and why: outages, caps and lag."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, case, or_, select, update

from groundwire.jobs.store.schema import gaps, identity, insert_for

__all__ = ["Gap", "Why", "close", "list_gaps", "note"]

Why = Literal["outage", "cap", "lag"]


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A stretch of trace time that was not covered."""

    gap_id: str
    source: str
    evaluator: str
    """Empty where all of the source's evaluators missed it."""
    why: Why
    key: str
    """What makes it one gap: the spending window, the outage's start."""
    starts_at: datetime
    ends_at: datetime
    n: int
    """Partitions known to be skipped; 0 where nobody can know."""
    noted_at: datetime
    closed_at: datetime | None
    """When a backfill took it up."""


def note(
    tx: Connection,
    *,
    source: str,
    evaluator: str = "",
    why: Why,
    key: str,
    starts_at: datetime,
    ends_at: datetime,
    n: int = 0,
    now: datetime,
) -> str:
    """Begin a gap, or widen the one of that key and add to its count; returns its id. A closed one opens again."""
    gap_id = identity(source, evaluator, why, key)
    statement = insert_for(tx.dialect.name, gaps)
    new = statement.excluded
    statement = statement.on_conflict_do_update(
        index_elements=["gap_id"],
        set_={
            "starts_at": case((new.starts_at < gaps.c.starts_at, new.starts_at), else_=gaps.c.starts_at),
            "ends_at": case((new.ends_at > gaps.c.ends_at, new.ends_at), else_=gaps.c.ends_at),
            "n": gaps.c.n + new.n,
            "noted_at": new.noted_at,
            "closed_at": None,
        },
    )
    tx.execute(
        statement,
        {
            "gap_id": gap_id,
            "source": source,
            "evaluator": evaluator,
            "why": why,
            "key": key,
            "starts_at": starts_at,
            "ends_at": ends_at,
            "n": n,
            "noted_at": now,
        },
    )
    return gap_id


def close(tx: Connection, gap_ids: Sequence[str], *, now: datetime) -> None:
    """Note that a backfill took these gaps up."""
    tx.execute(update(gaps).where(gaps.c.gap_id.in_(gap_ids), gaps.c.closed_at.is_(None)).values(closed_at=now))


def list_gaps(
    tx: Connection,
    *,
    source: str | None = None,
    evaluator: str | None = None,
    why: Why | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    closed: bool = False,
) -> list[Gap]:
    """The gaps that touch `[since, until)`, the oldest first.

    With `evaluator`, its own and those of all evaluators; with `closed`, those that a backfill took up as well.
    """
    statement = select(gaps).order_by(gaps.c.starts_at, gaps.c.gap_id)
    if source is not None:
        statement = statement.where(gaps.c.source == source)
    if evaluator is not None:
        statement = statement.where(or_(gaps.c.evaluator == evaluator, gaps.c.evaluator == ""))
    if why is not None:
        statement = statement.where(gaps.c.why == why)
    if since is not None:
        statement = statement.where(gaps.c.ends_at >= since)
    if until is not None:
        statement = statement.where(gaps.c.starts_at < until)
    if not closed:
        statement = statement.where(gaps.c.closed_at.is_(None))
    return [Gap(**row) for row in tx.execute(statement).mappings()]
