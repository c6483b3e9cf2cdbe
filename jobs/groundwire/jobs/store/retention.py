"""Forgetting text: what is older than it may be kept, and one trace's or one user's at once."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, delete, select, update

from groundwire.jobs.store.engine import Store
from groundwire.jobs.store.outbox import FORGOTTEN
from groundwire.jobs.store.schema import deliveries, judge_cache, outbox, reservations, rows, spend
from groundwire.scorer import Claim, Row

__all__ = ["prune_before", "prune_trace", "prune_user", "without_text"]

PAGE = 500
"""Rows pruned in one transaction."""


def without_text(row: Row) -> Row:
    """The row with hashes, labels, numbers and offsets, and without a word of the trace or of the judge about it."""
    return row.model_copy(
        update={
            "explanation": "",
            "claims": tuple(_claim_without_text(claim) for claim in row.claims),
            "judge": {name: value for name, value in row.judge.items() if name not in ("notes", "replies")},
        }
    )


def _claim_without_text(claim: Claim) -> Claim:
    evidence = claim.evidence and claim.evidence.model_copy(update={"quote": "", "path": None})
    checks = tuple(
        check.model_copy(update={"text": "", "value": None, "path": None, "quote": None}) for check in claim.checks
    )
    return claim.model_copy(update={"text": "", "reason": "", "evidence": evidence, "checks": checks})


async def prune_before(store: Store, moment: datetime) -> int:
    """Forget the text of what was judged before that moment; returns how many rows lost theirs.

    With it go cache entries, webhooks' deliveries, dead letters' comments, and the spending windows of single traces.
    """
    await store.write(_prune_others, moment)
    return await _prune_rows(store, rows.c.created_at < moment)


async def prune_trace(store: Store, trace_id: str) -> int:
    """Forget the text of one trace at once, undelivered comments included; returns how many rows lost theirs."""
    return await _prune_rows(store, rows.c.trace_id == trace_id)


async def prune_user(store: Store, user_id: str) -> int:
    """Forget the text of one user's traces at once, and that they are this user's; returns how many rows it were."""
    return await _prune_rows(store, rows.c.user_id == user_id, forget_user=True)


async def _prune_rows(store: Store, which: ColumnElement[bool], *, forget_user: bool = False) -> int:
    pruned = 0
    while page := await store.write(_prune_page, which, forget_user=forget_user):
        pruned += page
    return pruned


def _prune_page(tx: Connection, which: ColumnElement[bool], *, forget_user: bool) -> int:
    left = and_(which, ~rows.c.text_pruned) if not forget_user else which
    found = tx.execute(select(rows.c.row_id, rows.c.trace_id, rows.c.body).where(left).limit(PAGE)).all()
    for row_id, _, body in found:
        tx.execute(
            update(rows)
            .where(rows.c.row_id == row_id)
            .values(
                body=without_text(Row.model_validate_json(body)).model_dump_json(),
                text_pruned=True,
                user_id=None if forget_user else rows.c.user_id,
            )
        )
    _forget_beside(tx, [row_id for row_id, _, _ in found], sorted({trace_id for _, trace_id, _ in found}))
    return len(found)


def _forget_beside(tx: Connection, row_ids: Sequence[str], trace_ids: Sequence[str]) -> None:
    tx.execute(delete(judge_cache).where(judge_cache.c.trace_id.in_(trace_ids)))
    tx.execute(update(outbox).where(outbox.c.row_id.in_(row_ids)).values(FORGOTTEN))


def _prune_others(tx: Connection, moment: datetime) -> None:
    tx.execute(delete(judge_cache).where(judge_cache.c.created_at < moment))
    tx.execute(delete(deliveries).where(deliveries.c.received_at < moment))
    tx.execute(update(outbox).where(outbox.c.queued_at < moment, outbox.c.state == "dead").values(FORGOTTEN))
    tx.execute(delete(reservations).where(reservations.c.expired, reservations.c.expires_at < moment))
    tx.execute(delete(spend).where(spend.c.per == "trace", spend.c.updated_at < moment, spend.c.reserved == 0))
