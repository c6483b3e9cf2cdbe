"""The runs: what was started, when it ended, and what it came to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue
from sqlalchemy import Connection, select, update

from groundwire.jobs.store.schema import runs

__all__ = ["Run", "RunOutcome", "end", "list_runs", "note", "start"]

RunOutcome = Literal["running", "done", "stopped", "failed"]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One start of groundwire."""

    run_id: str
    command: str
    args: Mapping[str, JsonValue]
    evaluator: str | None
    started_at: datetime
    ended_at: datetime | None
    """None while it runs, and for one that was killed."""
    outcome: RunOutcome
    counts: Mapping[str, int]
    micro_dollars: int
    message: str | None


def start(
    tx: Connection,
    run_id: str,
    *,
    command: str,
    args: Mapping[str, JsonValue],
    evaluator: str | None = None,
    now: datetime,
) -> None:
    """Note that a run begins; `args` holds no secrets."""
    tx.execute(
        runs.insert().values(
            run_id=run_id,
            command=command,
            args=args,
            evaluator=evaluator,
            started_at=now,
            outcome="running",
            counts={},
            micro_dollars=0,
        )
    )


def note(tx: Connection, run_id: str, *, counts: Mapping[str, int], micro_dollars: int) -> None:
    """Note what a run has come to so far, so that a killed one still tells."""
    tx.execute(update(runs).where(runs.c.run_id == run_id).values(counts=counts, micro_dollars=micro_dollars))


def end(
    tx: Connection,
    run_id: str,
    *,
    outcome: Literal["done", "stopped", "failed"],
    message: str | None = None,
    now: datetime,
) -> None:
    """Note that a run ended; `message` is one line without trace text."""
    tx.execute(update(runs).where(runs.c.run_id == run_id).values(outcome=outcome, message=message, ended_at=now))


def list_runs(
    tx: Connection, *, run_id: str | None = None, evaluator: str | None = None, limit: int | None = None
) -> list[Run]:
    """The runs, the newest first."""
    statement = select(runs).order_by(runs.c.started_at.desc(), runs.c.run_id).limit(limit)
    if run_id is not None:
        statement = statement.where(runs.c.run_id == run_id)
    if evaluator is not None:
        statement = statement.where(runs.c.evaluator == evaluator)
    return [Run(**row) for row in tx.execute(statement).mappings()]
