"""The end of a piece of work: its row, its scores and its state, stored together or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import JsonValue
from sqlalchemy import Connection, bindparam, case, insert, or_, select, update

from groundwire.jobs.store import outbox
from groundwire.jobs.store.retention import without_text
from groundwire.jobs.store.rows import is_judged
from groundwire.jobs.store.schema import rows, work
from groundwire.jobs.store.work import Item
from groundwire.scorer import Row

__all__ = ["Outcome", "finish", "restore"]


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
_LOCK = select(work.c.claim, work.c.state).where(work.c.work_id == bindparam("id")).with_for_update()
_BEFORE = select(
    rows.c.row_id, rows.c.content_hash, rows.c.status, rows.c.reason, rows.c.fingerprint, rows.c.superseded_at
).where(rows.c.work_id == bindparam("id"))
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
    """Store a row with its scores, supersede the earlier one and end the item; False where there was nothing to store.

    The same content a second time is nothing, unless the item asks to `rescore` it and the configuration is another.
    An item that changed while it was judged is due again. A worker that comes back after another has finished the item
    finds its own older content stored as history, without scores.
    """
    row = outcome.row
    held = tx.execute(_LOCK, {"id": item.work_id}).one()
    before = tx.execute(_BEFORE, {"id": item.work_id}).all()
    for old in before:
        alike = old.fingerprint == row.config_fingerprint or not item.rescore
        if alike and old.content_hash == outcome.content_hash and is_judged(old.status, old.reason):
            _end(tx, item, outcome.arrival_hash or outcome.content_hash, row)
            return False
    current = next((old.row_id for old in before if old.superseded_at is None), None)
    late = held.claim != item.claim and held.state != "judging" and current is not None
    if not late and current is not None:
        tx.execute(_SUPERSEDE, {"id": item.work_id, "by": row.row_id, "now": now})
    tx.execute(
        _STORE,
        {
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
        },
    )
    if not late:
        for wanted in outcome.scores:
            outbox.put(tx, wanted, row_id=row.row_id, run_id=item.run_id, now=now)
        _end(tx, item, outcome.arrival_hash or outcome.content_hash, row)
    return True


def restore(
    tx: Connection, item: Item, row_id: str, *, content_hash: str, scores: Sequence[outbox.Wanted], now: datetime
) -> None:
    """Make a superseded row current again, because the partition's content went back to what it was for."""
    tx.execute(_LOCK, {"id": item.work_id})
    tx.execute(_SUPERSEDE, {"id": item.work_id, "by": row_id, "now": now})
    tx.execute(update(rows).where(rows.c.row_id == row_id).values(superseded_at=None, superseded_by=None))
    for wanted in scores:
        outbox.put(tx, wanted, row_id=row_id, run_id=item.run_id, now=now)
    _end(tx, item, content_hash, None)


def _end(tx: Connection, item: Item, content_hash: str, row: Row | None) -> None:
    state: Literal["done", "skipped", "error"] = "done"
    if row is not None and row.status in ("skipped", "error"):
        state = row.status
    why = None if row is None else row.reason
    tx.execute(_END, {"id": item.work_id, "seen": item.revision, "hash": content_hash, "ended": state, "why": why})
