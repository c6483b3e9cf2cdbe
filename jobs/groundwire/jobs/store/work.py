"""What is to be judged: one item for each partition of each evaluator, claimed by one worker at a time."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Literal

from pydantic import JsonValue
from sqlalchemy import Connection, and_, case, func, literal, or_, select, text, update

from groundwire.jobs.store.schema import OPEN, Insert, Time, identity, insert_for, work
from groundwire.scorer import PartitionType

__all__ = [
    "Arrival",
    "Item",
    "WorkState",
    "claim",
    "close",
    "enqueue",
    "extend",
    "lock",
    "postpone",
    "reopen",
    "tally",
    "work_key",
]

WorkState = Literal["pending", "waiting", "judging", "done", "skipped", "error"]


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A partition that was seen, by a poll, a hook or a backfill."""

    evaluator: str
    partition_type: PartitionType
    partition_id: str
    trace_id: str
    session_id: str | None = None
    origin: Mapping[str, JsonValue]
    """How the source fetches it again; ids only."""
    content_hash: str | None = None
    """None where only an id has arrived: the item is then due, and whoever fetches it finds out."""
    inclusion: float = 1.0
    """Probability, in (0, 1], with which sampling let it in."""
    not_before: datetime
    """When it will have settled."""
    waiting: bool = False
    """True where it is known to be incomplete."""
    live: bool = True
    rescore: bool = False
    """True to judge it although the same content was judged, under another configuration."""
    run_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Item:
    """A claimed piece of work."""

    work_id: str
    evaluator: str
    partition_type: PartitionType
    partition_id: str
    trace_id: str
    session_id: str | None
    origin: Mapping[str, JsonValue]
    content_hash: str | None
    inclusion: float
    live: bool
    rescore: bool
    run_id: str | None
    attempts: int
    """Claims since its content last changed, this one included; ≥ 1."""
    revision: int
    first_seen: datetime
    """Since when it has been open; `max_wait` counts from here."""
    changed_at: datetime
    claim: str
    """Token of this claim."""


def work_key(evaluator: str, partition_type: PartitionType, partition_id: str) -> str:
    """The id of the one work item that an evaluator has for a partition."""
    return identity(evaluator, partition_type, partition_id)


@cache
def _enqueue_statement(dialect: str) -> Insert:
    statement = insert_for(dialect, work)
    new = statement.excluded
    was_open = text(f"work.{OPEN}")
    live_before = and_(was_open, work.c.live)
    unjudged = or_(work.c.state == "error", and_(work.c.state == "skipped", work.c.reason == "over_budget"))
    return statement.on_conflict_do_update(
        index_elements=["work_id"],
        set_={
            "trace_id": new.trace_id,
            "session_id": new.session_id,
            "origin": new.origin,
            "content_hash": new.content_hash,
            "state": case((work.c.state == "judging", work.c.state), else_=new.state),
            "reason": None,
            "attempts": 0,
            "revision": work.c.revision + 1,
            "inclusion": new.inclusion,
            "live": case((live_before, work.c.live), else_=new.live),
            "rescore": case((was_open, or_(work.c.rescore, new.rescore)), else_=new.rescore),
            "run_id": case((live_before, work.c.run_id), else_=new.run_id),
            "not_before": new.not_before,
            "first_seen": case((was_open, work.c.first_seen), else_=new.first_seen),
            "changed_at": new.changed_at,
        },
        where=or_(
            work.c.content_hash.is_(None),
            new.content_hash.is_(None),
            work.c.content_hash != new.content_hash,
            and_(new.rescore, ~work.c.rescore),
            and_(~new.live, unjudged),
            and_(was_open, ~work.c.live, ~new.live, work.c.run_id != new.run_id),
        ),
    )


def enqueue(tx: Connection, arrivals: Sequence[Arrival], *, now: datetime) -> int:
    """Store what arrived, a page in one go; returns how many items are new or changed.

    The same content again is nothing, but that a backfill takes up what a cap left out, what an error ended, and what
    another backfill left waiting. Other content, or content unknown, opens the item again; while it is being judged, it
    stays so and opens when that ends.
    """
    if not arrivals:
        return 0
    values = [
        {
            "work_id": work_key(arrival.evaluator, arrival.partition_type, arrival.partition_id),
            "evaluator": arrival.evaluator,
            "partition_type": arrival.partition_type,
            "partition_id": arrival.partition_id,
            "trace_id": arrival.trace_id,
            "session_id": arrival.session_id,
            "origin": arrival.origin,
            "content_hash": arrival.content_hash,
            "state": "waiting" if arrival.waiting else "pending",
            "attempts": 0,
            "revision": 1,
            "inclusion": arrival.inclusion,
            "live": arrival.live,
            "rescore": arrival.rescore,
            "run_id": arrival.run_id,
            "not_before": arrival.not_before,
            "first_seen": now,
            "changed_at": now,
        }
        for arrival in arrivals
    ]
    values.sort(key=lambda value: str(value["work_id"]))  # one order of locks for every process
    return tx.execute(_enqueue_statement(tx.dialect.name), values).rowcount


_ITEM = [work.c[name] for name in Item.__dataclass_fields__ if name != "claim"]
"""The columns that a claimed item tells."""


def claim(
    tx: Connection,
    *,
    evaluators: Sequence[str],
    limit: int,
    now: datetime,
    until: datetime,
    live: bool = True,
    run_id: str | None = None,
    work_id: str | None = None,
) -> list[Item]:
    """Take due items for one worker until that time, the longest due first.

    An item whose worker has not finished or extended it by then is due again. A backfill gives `live=False` and its
    own run. `work_id` takes that item and no other.
    """
    due = (
        select(*_ITEM)
        .where(text(OPEN), work.c.not_before <= now, or_(work.c.claimed_until.is_(None), work.c.claimed_until <= now))
        .where(work.c.evaluator.in_(evaluators), work.c.live.is_(live))
        .order_by(work.c.not_before, work.c.work_id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    if run_id is not None:
        due = due.where(work.c.run_id == run_id)
    if work_id is not None:
        due = due.where(work.c.work_id == work_id)
    found = tx.execute(due).mappings().all()
    if not found:
        return []
    token = uuid.uuid4().hex
    tx.execute(
        update(work)
        .where(work.c.work_id.in_([row["work_id"] for row in found]))
        .values(state="judging", claim=token, claimed_until=until, attempts=work.c.attempts + 1)
    )
    return [Item(**{**row, "attempts": row["attempts"] + 1, "claim": token}) for row in found]


def extend(tx: Connection, items: Sequence[Item], *, until: datetime) -> None:
    """Keep claimed items for longer: the heartbeat of a slow judge."""
    if items:
        tx.execute(
            update(work)
            .where(work.c.work_id.in_([item.work_id for item in items]), work.c.claim == items[0].claim)
            .values(claimed_until=until)
        )


def lock(tx: Connection, items: Sequence[Item]) -> None:
    """Hold items till the transaction ends: who changes several in any order does so first, so that none deadlock."""
    if items and tx.dialect.name != "sqlite":  # where one writes at a time
        ids = [item.work_id for item in items]
        tx.execute(select(work.c.work_id).where(work.c.work_id.in_(ids)).order_by(work.c.work_id).with_for_update())


def postpone(
    tx: Connection, item: Item, *, not_before: datetime, reason: str | None = None, waiting: bool = False
) -> None:
    """Put an item back, due at that time: it must settle (`waiting`), a fault may pass, or the worker is stopping."""
    _let_go(tx, item, state="waiting" if waiting else "pending", reason=reason, not_before=not_before)


def close(
    tx: Connection,
    item: Item,
    *,
    state: Literal["done", "skipped", "error"],
    reason: str | None = None,
    content_hash: str | None = None,
) -> bool:
    """End an item that leaves no new row (a duplicate, a gate); False where another worker has it by now."""
    return _let_go(tx, item, state=state, reason=reason, content_hash=content_hash)


def _let_go(
    tx: Connection,
    item: Item,
    *,
    state: WorkState,
    reason: str | None,
    not_before: datetime | None = None,
    content_hash: str | None = None,
) -> bool:
    same = work.c.revision == item.revision  # nothing arrived since the claim that the worker hasn't seen
    if content_hash is not None:
        same = or_(same, work.c.content_hash == content_hash)
    values = {
        "claim": None,
        "claimed_until": None,
        "state": case((same, state), else_="pending"),
        "reason": case((same, reason), else_=None),
    }
    if not_before is not None:
        values["not_before"] = case((same, literal(not_before, Time)), else_=work.c.not_before)
    if content_hash is not None:
        values["content_hash"] = case((same, content_hash), else_=work.c.content_hash)
    own = update(work).where(work.c.work_id == item.work_id, work.c.claim == item.claim)
    return bool(tx.execute(own.values(values)).rowcount)


def reopen(
    tx: Connection,
    *,
    evaluator: str,
    state: Literal["skipped", "error"],
    reason: str | None = None,
    run_id: str | None = None,
    live: bool = True,
    now: datetime,
) -> int:
    """Make ended items due again: those in error, or those skipped for a reason (`over_budget`); returns how many."""
    statement = (
        update(work)
        .where(work.c.evaluator == evaluator, work.c.state == state)
        .values(
            state="pending",
            reason=None,
            attempts=0,
            revision=work.c.revision + 1,
            live=live,
            run_id=run_id,
            not_before=now,
            first_seen=now,
        )
    )
    if reason is not None:
        statement = statement.where(work.c.reason == reason)
    return tx.execute(statement).rowcount


def tally(tx: Connection, evaluator: str | None = None) -> dict[tuple[str, WorkState], int]:
    """How many items each evaluator has in each state."""
    statement = select(work.c.evaluator, work.c.state, func.count()).group_by(work.c.evaluator, work.c.state)
    if evaluator is not None:
        statement = statement.where(work.c.evaluator == evaluator)
    return {(name, state): n for name, state, n in tx.execute(statement)}
