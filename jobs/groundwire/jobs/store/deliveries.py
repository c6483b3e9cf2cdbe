"""What webhooks delivered: kept as it came until it is read, then the traces it spoke of until they are taken up."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue
from sqlalchemy import Connection, delete, func, select, update

from groundwire.jobs.store.schema import deliveries, identity, insert_for

__all__ = ["Received", "StoredDelivery", "due", "forget", "keep", "receive", "unread", "waiting"]

Received = Literal["stored", "known", "full"]
"""What became of a delivery: it is stored; the same was delivered before; there is no room for it."""


@dataclass(frozen=True, kw_only=True)
class StoredDelivery:
    """A delivery whose traces aren't all taken up."""

    delivery_id: str
    body: bytes | None
    """As it came; None once it was read."""
    origins: Sequence[Mapping[str, JsonValue]] | None
    """Once it was read: the traces that are still to be taken up, as `Origin`s; ids and times only."""
    received_at: datetime


def receive(tx: Connection, evaluator: str, body: bytes, *, now: datetime, most: int, most_bytes: int) -> Received:
    """Store a delivery, unless the same was stored before or the queue holds `most` deliveries or `most_bytes`."""
    delivery_id = identity(evaluator, hashlib.sha256(body).hexdigest())
    if tx.execute(select(deliveries.c.delivery_id).where(deliveries.c.delivery_id == delivery_id)).first():
        return "known"
    n, size = tx.execute(
        select(func.count(), func.coalesce(func.sum(deliveries.c.size), 0)).where(deliveries.c.done_at.is_(None))
    ).one()
    if n >= most or size + len(body) > most_bytes:
        return "full"
    statement = insert_for(tx.dialect.name, deliveries).values(
        delivery_id=delivery_id,
        evaluator=evaluator,
        body=body,
        size=len(body),
        origins=None,
        not_before=now,
        received_at=now,
        done_at=None,
    )
    tx.execute(statement.on_conflict_do_nothing(index_elements=["delivery_id"]))
    return "stored"


def due(tx: Connection, evaluator: str, *, now: datetime, limit: int) -> list[StoredDelivery]:
    """Deliveries with traces to take up, the longest due first."""
    found = tx.execute(
        select(deliveries.c.delivery_id, deliveries.c.body, deliveries.c.origins, deliveries.c.received_at)
        .where(deliveries.c.done_at.is_(None), deliveries.c.evaluator == evaluator, deliveries.c.not_before <= now)
        .order_by(deliveries.c.not_before, deliveries.c.delivery_id)
        .limit(limit)
    )
    return [StoredDelivery(**row) for row in found.mappings()]


def unread(tx: Connection, evaluator: str, *, limit: int) -> list[StoredDelivery]:
    """Deliveries that are still as they came, in no order."""
    found = tx.execute(
        select(deliveries.c.delivery_id, deliveries.c.body, deliveries.c.origins, deliveries.c.received_at)
        .where(deliveries.c.done_at.is_(None), deliveries.c.evaluator == evaluator, deliveries.c.body.is_not(None))
        .limit(limit)
    )
    return [StoredDelivery(**row) for row in found.mappings()]


def keep(
    tx: Connection, delivery_id: str, origins: Sequence[Mapping[str, JsonValue]], *, now: datetime, not_before: datetime
) -> None:
    """Keep of a delivery only the traces that are left, due at `not_before`; with none left it is done.

    The body is forgotten either way.
    """
    tx.execute(
        update(deliveries)
        .where(deliveries.c.delivery_id == delivery_id)
        .values(
            body=None,
            size=0,
            origins=list(origins) or None,
            not_before=not_before,
            done_at=None if origins else now,
        )
    )


def waiting(tx: Connection) -> dict[str, int]:
    """How many deliveries of each evaluator aren't done."""
    statement = (
        select(deliveries.c.evaluator, func.count())
        .where(deliveries.c.done_at.is_(None))
        .group_by(deliveries.c.evaluator)
    )
    return {str(evaluator): int(n) for evaluator, n in tx.execute(statement)}


def forget(tx: Connection, before: datetime) -> None:
    """Forget deliveries that were done before that moment: the same again would be taken up again."""
    tx.execute(delete(deliveries).where(deliveries.c.done_at < before))
