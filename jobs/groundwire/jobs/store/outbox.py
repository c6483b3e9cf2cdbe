"""What should stand on the platforms: one entry for each score, delivered until it is there.

An entry says what the score should be now. A newer value takes the place of an older one that waits, so that a platform
never sees them in the wrong order; an entry on its way is not handed out a second time before it returns.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import JsonValue
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from groundwire.jobs.store.schema import identity, outbox

__all__ = [
    "FORGOTTEN",
    "Entry",
    "EntryState",
    "Put",
    "Wanted",
    "bury",
    "claim",
    "deliver",
    "entries",
    "put",
    "put_all",
    "retract",
    "retry",
    "revive",
    "tally",
]

EntryState = Literal["pending", "sent", "dead"]

FORGOTTEN: dict[str, None] = {"comment": None, "details": None}
"""The columns that quote the trace, and what becomes of them."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What one score on a platform should be."""

    source: str
    """The source whose platform it goes to."""
    project: str
    target: str
    """What it is attached to, in the connector's own form; of a session it names the last turn's trace as well."""
    evaluator: str
    score_name: str
    action: Literal["put", "delete"] = "put"
    payload: Mapping[str, JsonValue]
    """What the connector needs to write or delete it; no text of the trace."""
    comment: str = ""
    """What quotes the trace; forgotten once delivered."""
    details: Mapping[str, JsonValue] = field(default_factory=dict)
    """Metadata that quotes the trace as well; forgotten with the comment."""

    @property
    def score_key(self) -> str:
        """The identity of the score."""
        return identity(self.project, self.target, self.evaluator, self.score_name)

    @property
    def digest(self) -> str:
        """Of all that would be written."""
        details = [self.details] if self.details else []
        written = json.dumps([self.action, self.payload, self.comment, *details], sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Put:
    """A score that is wanted, by the row and the run that want it."""

    wanted: Wanted
    row_id: str | None
    run_id: str | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A score in the outbox."""

    score_key: str
    generation: int
    """From 1: the next begins after a score was taken off, and belongs in the score's id."""
    revision: int
    source: str
    project: str
    target: str
    evaluator: str
    score_name: str
    action: Literal["put", "delete"]
    payload: Mapping[str, JsonValue]
    comment: str | None
    details: Mapping[str, JsonValue] | None
    state: EntryState
    attempts: int
    """Deliveries begun of this revision, this one included."""
    error: str | None
    row_id: str | None
    run_id: str | None
    queued_at: datetime
    delivered_at: datetime | None


# Built once: building a statement costs more than running it.
_KNOWN = (
    select(
        outbox.c.score_key,
        outbox.c.generation,
        outbox.c.action,
        outbox.c.state,
        outbox.c.attempts,
        outbox.c.tried,
        outbox.c.digest,
    )
    .where(outbox.c.score_key.in_(bindparam("keys", expanding=True)))
    .order_by(outbox.c.score_key, outbox.c.generation)
    .with_for_update()
)
_INSERT = insert(outbox)
_HERE = and_(outbox.c.score_key == bindparam("k"), outbox.c.generation == bindparam("g"))


def put(tx: Connection, wanted: Wanted, *, row_id: str | None, run_id: str | None, now: datetime) -> int | None:
    """Say what one score should be; see `put_all`."""
    return put_all(tx, [Put(wanted=wanted, row_id=row_id, run_id=run_id)], now=now)[0]


def put_all(tx: Connection, asked: Sequence[Put], *, now: datetime) -> list[int | None]:
    """Say what scores should be, each once; returns their generations, None where there is nothing to deliver.

    The same as it is already is nothing, and so is taking off a score that never was.
    """
    if not asked:
        return []
    keys = sorted(one.wanted.score_key for one in asked)
    latest = {found["score_key"]: found for found in tx.execute(_KNOWN, {"keys": keys}).mappings()}
    new: list[dict[str, object]] = []
    generations = [_put(tx, one, latest.get(one.wanted.score_key), new, now) for one in asked]
    if new:
        tx.execute(_INSERT, new)
    return generations


def _put(
    tx: Connection, asked: Put, latest: RowMapping | None, new: list[dict[str, object]], now: datetime
) -> int | None:
    """The generation that one is; what is to be inserted for it is added to `new`."""
    wanted = asked.wanted
    if latest is None:
        if wanted.action == "delete":
            return None
        new.append(_values(asked, 1, now))
        return 1
    generation = int(latest["generation"])
    if latest["action"] == "delete":
        if wanted.action == "delete":
            return None
        if latest["state"] != "pending" or latest["attempts"] > 0:  # it may be gone: its id may not be used again
            new.append(_values(asked, generation + 1, now))
            return generation + 1
    elif wanted.action == "delete" and not latest["tried"]:
        tx.execute(delete(outbox).where(_is(wanted.score_key, generation)))
        return None
    elif latest["digest"] == wanted.digest and latest["state"] != "dead":
        tx.execute(update(outbox).where(_is(wanted.score_key, generation)).values(row_id=asked.row_id))
        return None
    changed = _values(asked, generation, now) | {"revision": outbox.c.revision + 1, "error": None, "delivered_at": None}
    del changed["tried"]
    tx.execute(update(outbox).where(_is(wanted.score_key, generation)).values(changed))
    return generation


def _values(asked: Put, generation: int, now: datetime) -> dict[str, object]:
    wanted = asked.wanted
    return {
        "score_key": wanted.score_key,
        "generation": generation,
        "source": wanted.source,
        "project": wanted.project,
        "target": wanted.target,
        "evaluator": wanted.evaluator,
        "score_name": wanted.score_name,
        "action": wanted.action,
        "payload": wanted.payload,
        "comment": wanted.comment,
        "details": wanted.details,
        "digest": wanted.digest,
        "revision": 1,
        "state": "pending",
        "tried": False,
        "attempts": 0,
        "not_before": now,
        "row_id": asked.row_id,
        "run_id": asked.run_id,
        "queued_at": now,
    }


def _is(score_key: str, generation: int) -> ColumnElement[bool]:
    return and_(outbox.c.score_key == score_key, outbox.c.generation == generation)


def claim(tx: Connection, source: str, *, limit: int, now: datetime, until: datetime) -> list[Entry]:
    """Take due entries of one source for delivery until that time, the longest due first."""
    due = (
        select(outbox)
        .where(text("state = 'pending'"), outbox.c.not_before <= now, outbox.c.source == source)
        .where(or_(outbox.c.claimed_until.is_(None), outbox.c.claimed_until <= now))
        .order_by(outbox.c.not_before, outbox.c.score_key, outbox.c.generation)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    found = tx.execute(due).mappings().all()
    if found:  # key by key: SQLite reads the whole table for a list of pairs
        tx.execute(
            update(outbox).where(_HERE).values(claimed_until=until, attempts=outbox.c.attempts + 1, tried=True),
            [
                {"k": key, "g": generation}
                for key, generation in sorted((r["score_key"], r["generation"]) for r in found)
            ],
        )
    return [_entry(row, attempts=row["attempts"] + 1) for row in found]


def _entry(row: RowMapping, **changes: Any) -> Entry:
    return Entry(**{name: row[name] for name in Entry.__dataclass_fields__} | changes)


def deliver(tx: Connection, delivered: Sequence[Entry], *, now: datetime) -> None:
    """Note entries as delivered; one that changed meanwhile stays due with its newer value."""
    _settle(tx, delivered, state="sent", **FORGOTTEN, error=None, delivered_at=now)


def retry(tx: Connection, entry: Entry, *, not_before: datetime, error: str) -> None:
    """Put an entry back, due at that time."""
    _settle(tx, [entry], not_before=not_before, error=error)


def bury(tx: Connection, entry: Entry, *, error: str) -> None:
    """Give an entry up as a dead letter, which `revive` makes due again."""
    _settle(tx, [entry], state="dead", error=error)


def _settle(tx: Connection, settled: Sequence[Entry], **values: Any) -> None:
    if not settled:
        return
    keys = sorted((entry.score_key, entry.generation, entry.revision) for entry in settled)  # one order of locks
    tx.execute(
        update(outbox).where(_HERE).values(claimed_until=None),
        [{"k": key, "g": generation} for key, generation, _ in keys],
    )
    tx.execute(
        update(outbox).where(_HERE, outbox.c.revision == bindparam("r")).values(values),
        [{"k": key, "g": generation, "r": revision} for key, generation, revision in keys],
    )


def revive(tx: Connection, *, now: datetime, evaluator: str | None = None) -> int:
    """Make dead letters due again; returns how many."""
    statement = update(outbox).where(outbox.c.state == "dead")
    if evaluator is not None:
        statement = statement.where(outbox.c.evaluator == evaluator)
    return tx.execute(statement.values(state="pending", attempts=0, not_before=now)).rowcount


def entries(
    tx: Connection,
    *,
    evaluator: str | None = None,
    run_id: str | None = None,
    row_id: str | None = None,
    state: EntryState | None = None,
    limit: int | None = None,
) -> list[Entry]:
    """The outbox's entries by what is given, the oldest first. With `run_id`: what a run wrote and nothing replaced."""
    given = {"evaluator": evaluator, "run_id": run_id, "row_id": row_id, "state": state}
    statement = (
        select(outbox)
        .where(*(outbox.c[name] == value for name, value in given.items() if value is not None))
        .order_by(outbox.c.queued_at, outbox.c.score_key, outbox.c.generation)
        .limit(limit)
    )
    return [_entry(row) for row in tx.execute(statement).mappings()]


def retract(tx: Connection, *, evaluator: str, run_id: str, now: datetime) -> tuple[int, int]:
    """Take off the platform what a run wrote: (entries to delete there, entries that never left and are dropped)."""
    mine = and_(outbox.c.evaluator == evaluator, outbox.c.run_id == run_id, outbox.c.action == "put")
    dropped = tx.execute(delete(outbox).where(mine, ~outbox.c.tried)).rowcount
    queued = tx.execute(
        update(outbox)
        .where(mine)
        .values(
            action="delete",
            **FORGOTTEN,
            digest="",
            revision=outbox.c.revision + 1,
            state="pending",
            attempts=0,
            not_before=now,
            error=None,
            queued_at=now,
            delivered_at=None,
        )
    ).rowcount
    return queued, dropped


def tally(tx: Connection) -> dict[tuple[str, EntryState], int]:
    """How many entries each source has in each state."""
    statement = select(outbox.c.source, outbox.c.state, func.count()).group_by(outbox.c.source, outbox.c.state)
    return {(source, state): n for source, state, n in tx.execute(statement)}
