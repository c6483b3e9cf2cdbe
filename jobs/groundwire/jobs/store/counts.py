"""Counts of what leaves no row (sampled out, filtered, in need of no facts), and of what a gate let pass.

By evaluator and hour.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, func, select

from groundwire.jobs.store.schema import counts, insert_for

__all__ = ["PASSED", "add", "totals"]

PASSED = ("needs_fact_check", "fact_check_unknown")
"""Reasons that count what passed a gate, and was judged: it needs facts, or nobody could tell."""


def add(tx: Connection, evaluator: str, amounts: Mapping[str, int], *, now: datetime) -> None:
    """Add to an evaluator's counts of the current hour, by reason."""
    statement = insert_for(tx.dialect.name, counts)
    statement = statement.on_conflict_do_update(
        index_elements=["evaluator", "hour", "reason"], set_={"n": counts.c.n + statement.excluded.n}
    )
    hour = now.replace(minute=0, second=0, microsecond=0)
    values = [
        {"evaluator": evaluator, "hour": hour, "reason": reason, "n": n} for reason, n in sorted(amounts.items()) if n
    ]
    if values:
        tx.execute(statement, values)


def totals(
    tx: Connection, *, since: datetime | None = None, until: datetime | None = None
) -> dict[tuple[str, str], int]:
    """The counts by (evaluator, reason) over the hours that begin in `[since, until)`."""
    statement = select(counts.c.evaluator, counts.c.reason, func.sum(counts.c.n))
    if since is not None:
        statement = statement.where(counts.c.hour >= since)
    if until is not None:
        statement = statement.where(counts.c.hour < until)
    statement = statement.group_by(counts.c.evaluator, counts.c.reason)
    return {(evaluator, reason): int(n) for evaluator, reason, n in tx.execute(statement)}
