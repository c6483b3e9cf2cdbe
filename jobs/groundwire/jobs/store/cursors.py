"""Where each source is being read, and which process reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Connection, and_, or_, select, update

from groundwire.jobs.store.schema import cursors, insert_for

__all__ = ["Place", "acquire", "advance", "places", "release"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """How far one source has been read."""

    source: str
    cursor: Mapping[str, JsonValue] | None
    """The connector's own form; None before the first page."""
    reached: datetime | None
    """Everything the source had up to here is stored."""
    moved_at: datetime | None
    owner: str | None
    lease_until: datetime | None


def acquire(tx: Connection, source: str, *, owner: str, now: datetime, until: datetime) -> bool:
    """Take or renew the right to pull a source until that time; False where another process has it."""
    statement = insert_for(tx.dialect.name, cursors).values(source=source, owner=owner, lease_until=until)
    statement = statement.on_conflict_do_update(
        index_elements=["source"],
        set_={"owner": owner, "lease_until": until},
        where=or_(cursors.c.owner.is_(None), cursors.c.owner == owner, cursors.c.lease_until <= now),
    )
    return tx.execute(statement).rowcount == 1


def release(tx: Connection, source: str, *, owner: str) -> None:
    """Give the right to pull a source back; nothing happens where another process has it."""
    tx.execute(
        update(cursors).where(cursors.c.source == source, cursors.c.owner == owner).values(owner=None, lease_until=None)
    )


def advance(
    tx: Connection,
    source: str,
    cursor: Mapping[str, JsonValue],
    *,
    reached: datetime,
    owner: str,
    now: datetime,
    back: bool = False,
) -> bool:
    """Move a source's cursor, in the transaction that stores its page's work.

    False where it didn't move: another process pulls the source now, or the cursor is further on and `back` is not
    given. The same place with another cursor (the next page of one moment) is a move.
    """
    forward = or_(cursors.c.reached.is_(None), cursors.c.reached <= reached)
    mine = and_(cursors.c.source == source, cursors.c.owner == owner)
    moved = tx.execute(
        update(cursors)
        .where(mine if back else and_(mine, forward))
        .values(cursor=cursor, reached=reached, moved_at=now)
    )
    return moved.rowcount == 1


def places(tx: Connection, source: str | None = None) -> list[Place]:
    """Every source's place, by name; or that of one."""
    statement = select(cursors).order_by(cursors.c.source)
    if source is not None:
        statement = statement.where(cursors.c.source == source)
    return [Place(**row) for row in tx.execute(statement).mappings()]
