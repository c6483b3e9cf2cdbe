"""The end of a piece of work: its row, its scores and its state, stored together or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import JsonValue
from sqlalchemy import Connection, bindparam, case, insert, or_, select, update

from groundwire.jobs.store import outbox
from groundwire.jobs.store.retention import without_text
from groundwire.jobs.store.rows import is_judged
from groundwire.jobs.store.schema import rows, work
from groundwire.jobs.store.work import Item
from groundwire.scorer import Row

__all__ = ["Outcome", "finish", "finish_all", "restore"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What judging an item came to."""

    row: Row
    content_hash: str
    arrival_hash: str | None = None
    """What arrives again as long as nothing changed, where that isn't the content's own hash: of a session's last
    trace."""
    scores: Sequence[outbox.Wanted] = ()
    trace_time: datetime | None = None
    user_id: str | None = None
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    """Of the trace: environment, tags, release, model, latency, cost; no text of it."""


# Statements that every row passes are built once: building one costs more than running it.
_LOCK = (
    select(work.c.work_id, work.c.claim, work.c.state)
    .where(work.c.work_id.in_(bindparam("ids", expanding=True)))
    .order_by(work.c.work_id)  # one order of locks for every process
    .with_for_update()
)
_BEFORE = select(
    rows.c.work_id,
    rows.c.row_id,
    rows.c.content_hash,
    rows.c.status,
    rows.c.reason,
    rows.c.fingerprint,
    rows.c.superseded_at,
).where(rows.c.work_id.in_(bindparam("ids", expanding=True)))
_SUPERSEDE = (
    update(rows)
    .where(rows.c.work_id == bindparam("id"), rows.c.superseded_at.is_(None), rows.c.row_id != bindparam("by"))
    .values(superseded_at=bindparam("now"), superseded_by=bindparam("by"))
)
_STORE = insert(rows)
_SEEN = or_(work.c.revision == bindparam("seen"), work.c.content_hash == bindparam("hash"))
_END = (
    update(work)
    .where(work.c.work_id == bindparam("id"))
    .values(
        state=case((_SEEN, bindparam("ended")), else_="pending"),
        reason=case((_SEEN, bindparam("why")), else_=None),
        content_hash=case((_SEEN, bindparam("hash")), else_=work.c.content_hash),
        rescore=case((_SEEN, False), else_=work.c.rescore),
        claim=None,
        claimed_until=None,
    )
)


def finish(tx: Connection, item: Item, outcome: Outcome, *, now: datetime, store_text: bool = True) -> bool:
    """Store one row; see `finish_all`."""
    return finish_all(tx, [(item, outcome)], now=now, store_text=store_text)[0]


def finish_all(
    tx: Connection, finished: Sequence[tuple[Item, Outcome]], *, now: datetime, store_text: bool = True
) -> list[bool]:
    """Store rows with their scores, supersede the earlier ones and end the items; False where there was nothing to do.

    The same content a second time is nothing, unless the item asks to `rescore` it and the configuration is another.
    An item that changed while it was judged is due again. A worker that comes back after another has finished the item
    finds its own older content stored as history, without scores.
    """
    done: list[bool] = [False] * len(finished)
    left = list(range(len(finished)))
    while left:  # a second outcome of one item comes after the first is stored
        first = {finished[index][0].work_id: index for index in reversed(left)}
        left = [index for index in left if first[finished[index][0].work_id] != index]
        indices = [index for _, index in sorted(first.items())]
        stored = _finish(tx, [finished[index] for index in indices], now=now, store_text=store_text)
        for index, new in zip(indices, stored, strict=True):
            done[index] = new
    return done


def _finish(tx: Connection, finished: Sequence[tuple[Item, Outcome]], *, now: datetime, store_text: bool) -> list[bool]:
    """Items that differ, in the order of their ids."""
    ids = [item.work_id for item, _ in finished]
    held = {found.work_id: found for found in tx.execute(_LOCK, {"ids": ids})}
    before: dict[str, list[Any]] = {work_id: [] for work_id in ids}
    for old in tx.execute(_BEFORE, {"ids": ids}):
        before[old.work_id].append(old)
    stored, ends, values = [], [], []
    scores: list[outbox.Put] = []
    for item, outcome in finished:
        row, earlier = outcome.row, before[item.work_id]
        again = any(
            (old.fingerprint == row.config_fingerprint or not item.rescore)
            and old.content_hash == outcome.content_hash
            and is_judged(old.status, old.reason)
            for old in earlier
        )
        stored.append(not again)
        end = _ended(item, outcome.arrival_hash or outcome.content_hash, row)
        if again:
            ends.append(end)
            continue
        current = next((old.row_id for old in earlier if old.superseded_at is None), None)
        late = held[item.work_id].claim != item.claim and held[item.work_id].state != "judging" and current is not None
        values.append(_values(item, outcome, late=late, current=current, now=now, store_text=store_text))
        if not late:
            if current is not None:
                tx.execute(_SUPERSEDE, {"id": item.work_id, "by": row.row_id, "now": now})
            scores += [outbox.Put(wanted=one, row_id=row.row_id, run_id=item.run_id) for one in outcome.scores]
            ends.append(end)
    if values:
        tx.execute(_STORE, values)
    outbox.put_all(tx, scores, now=now)
    if ends:
        tx.execute(_END, ends)
    return stored


def _values(
    item: Item, outcome: Outcome, *, late: bool, current: str | None, now: datetime, store_text: bool
) -> dict[str, object]:
    row = outcome.row
    return {
        "row_id": row.row_id,
        "work_id": item.work_id,
        "evaluator": item.evaluator,
        "partition_type": row.partition_type,
        "partition_id": row.partition_id,
        "trace_id": row.trace_id,
        "session_id": row.session_id,
        "user_id": outcome.user_id,
        "metric": row.metric,
        "metric_version": row.metric_version,
        "status": row.status,
        "reason": row.reason,
        "score": row.score,
        "label": row.label,
        "fingerprint": row.config_fingerprint,
        "model": row.judge.get("model"),
        "micro_dollars": row.usage.micro_dollars,
        "content_hash": outcome.content_hash,
        "inclusion": item.inclusion,
        "run_id": item.run_id,
        "created_at": row.created_at,
        "trace_time": outcome.trace_time,
        "facts": outcome.facts,
        "superseded_at": now if late else None,
        "superseded_by": current if late else None,
        "text_pruned": not store_text,
        "body": (row if store_text else without_text(row)).model_dump_json(),
    }


def restore(
    tx: Connection, item: Item, row_id: str, *, content_hash: str, scores: Sequence[outbox.Wanted], now: datetime
) -> None:
    """Make a superseded row current again, because the partition's content went back to what it was for."""
    tx.execute(_LOCK, {"ids": [item.work_id]})
    tx.execute(_SUPERSEDE, {"id": item.work_id, "by": row_id, "now": now})
    tx.execute(update(rows).where(rows.c.row_id == row_id).values(superseded_at=None, superseded_by=None))
    outbox.put_all(tx, [outbox.Put(wanted=one, row_id=row_id, run_id=item.run_id) for one in scores], now=now)
    tx.execute(_END, _ended(item, content_hash, None))


def _ended(item: Item, content_hash: str, row: Row | None) -> dict[str, object]:
    """The parameters of `_END`."""
    state: Literal["done", "skipped", "error"] = "done"
    if row is not None and row.status in ("skipped", "error"):
        state = row.status
    why = None if row is None else row.reason
    return {"id": item.work_id, "seen": item.revision, "hash": content_hash, "ended": state, "why": why}
