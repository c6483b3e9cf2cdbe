"""Money in windows: what was spent and what is held, changed only where every cap still holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Literal

from sqlalchemy import BigInteger, Connection, bindparam, delete, insert, or_, select, update

from groundwire.jobs.store.cache import keep
from groundwire.jobs.store.schema import Insert, Time, identity, insert_for, reservations, spend

__all__ = ["Per", "Scope", "Window", "WindowState", "expire", "list_windows", "reserve", "settle", "states"]

Per = Literal["trace", "run", "hour", "day", "week", "month"]
Scope = Literal["evaluator", "backfill", "global"]


@dataclass(frozen=True, kw_only=True)
class Window:
    """One stretch of spending with at most one cap."""

    scope: Scope
    name: str
    """The evaluator; empty for `global`."""
    per: Per
    key: str
    """Start of the window (ISO), or the run, or the run and trace."""
    starts_at: datetime
    ends_at: datetime | None
    """Exclusive; None for a trace or a run."""
    cap: int | None
    """Micro-dollars; None counts without a limit."""

    @property
    def window_id(self) -> str:
        """The identity of the window."""
        return identity(self.scope, self.name, self.per, self.key)


@dataclass(frozen=True, kw_only=True)
class WindowState:
    """A window and what it holds, in micro-dollars."""

    window: Window
    spent: int
    reserved: int


@cache
def _raise_statement(dialect: str) -> Insert:
    statement = insert_for(dialect, spend)
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=["window_id"],
        set_={"reserved": spend.c.reserved + new.reserved, "cap": new.cap, "updated_at": new.updated_at},
        where=or_(new.cap.is_(None), spend.c.spent + spend.c.reserved + new.reserved <= new.cap),
    )


# Statements that stand in the way of every judge call are built once: building one costs more than running it.
_LOWER = (
    update(spend)
    .where(spend.c.window_id == bindparam("id"))
    .values(
        reserved=spend.c.reserved - bindparam("held", type_=BigInteger),
        spent=spend.c.spent + bindparam("cost", type_=BigInteger),
        updated_at=bindparam("now", type_=Time),
    )
)
_HOLD = insert(reservations)
_TAKE = (
    delete(reservations)
    .where(reservations.c.reservation_id == bindparam("id"))
    .returning(reservations.c.micro_dollars, reservations.c.windows, reservations.c.expired, reservations.c.trace_id)
)


def reserve(
    tx: Connection,
    windows: Sequence[Window],
    *,
    reservation_id: str,
    micro_dollars: int,
    evaluator: str,
    run_id: str,
    trace_id: str,
    now: datetime,
    until: datetime,
) -> bool:
    """Hold an amount in every window, or in none and return False.

    Each window is created or raised by one statement whose condition is its cap; where one refuses, those before it are
    lowered again in the same transaction.
    """
    ordered = sorted(windows, key=lambda window: window.window_id)  # one order of locks for every process
    taken: list[str] = []
    for window in ordered:
        if not _raise(tx, window, micro_dollars, now):
            _lower(tx, taken, held=micro_dollars, cost=0, now=now)
            return False
        taken.append(window.window_id)
    tx.execute(
        _HOLD,
        {
            "reservation_id": reservation_id,
            "micro_dollars": micro_dollars,
            "windows": taken,
            "expired": False,
            "evaluator": evaluator,
            "run_id": run_id or None,
            "trace_id": trace_id or None,
            "made_at": now,
            "expires_at": until,
        },
    )
    return True


def _raise(tx: Connection, window: Window, micro_dollars: int, now: datetime) -> bool:
    if window.cap is not None and micro_dollars > window.cap:
        return False  # the condition below guards only a window that is there
    raised = tx.execute(
        _raise_statement(tx.dialect.name),
        {
            "window_id": window.window_id,
            "scope": window.scope,
            "name": window.name,
            "per": window.per,
            "key": window.key,
            "starts_at": window.starts_at,
            "ends_at": window.ends_at,
            "cap": window.cap,
            "spent": 0,
            "reserved": micro_dollars,
            "updated_at": now,
        },
    )
    return raised.rowcount == 1


def _lower(tx: Connection, window_ids: Sequence[str], *, held: int, cost: int, now: datetime) -> None:
    if window_ids:
        change = {"held": held, "cost": cost, "now": now}
        tx.execute(_LOWER, [{"id": window_id, **change} for window_id in sorted(window_ids)])


def settle(
    tx: Connection, reservation_id: str, cost: int, *, entries: Mapping[str, str] | None = None, now: datetime
) -> bool:
    """Book what a call cost in place of what was held, and keep its cache entries; 0 releases it.

    False, and nothing changes, where it was settled before. A reservation that expired was booked at its worst case:
    the difference is given back.
    """
    found = tx.execute(_TAKE, {"id": reservation_id}).first()
    if found is None:
        return False
    held, window_ids, expired, trace_id = found
    if expired:
        _lower(tx, window_ids, held=0, cost=cost - held, now=now)
    else:
        _lower(tx, window_ids, held=held, cost=cost, now=now)
    if entries:
        keep(tx, entries, trace_id=trace_id, now=now)
    return True


def expire(tx: Connection, *, now: datetime) -> int:
    """Book the reservations that nobody settled in time at their worst case; returns how many.

    Their worker is gone, and the call may have been made and billed: giving the money back could pass the cap.
    """
    found = tx.execute(
        update(reservations)
        .where(~reservations.c.expired, reservations.c.expires_at <= now)
        .values(expired=True)
        .returning(reservations.c.micro_dollars, reservations.c.windows)
    ).all()
    totals: dict[str, int] = {}
    for held, window_ids in found:
        for window_id in window_ids:
            totals[window_id] = totals.get(window_id, 0) + held
    for window_id, held in sorted(totals.items()):
        _lower(tx, [window_id], held=held, cost=held, now=now)
    return len(found)


def states(tx: Connection, windows: Sequence[Window]) -> list[WindowState]:
    """What each of the given windows holds, in their order; zeros where nothing was spent yet."""
    ids = [window.window_id for window in windows]
    found = {
        row.window_id: row
        for row in tx.execute(
            select(spend.c.window_id, spend.c.spent, spend.c.reserved).where(spend.c.window_id.in_(ids))
        )
    }
    return [
        WindowState(
            window=window,
            spent=found[window.window_id].spent if window.window_id in found else 0,
            reserved=found[window.window_id].reserved if window.window_id in found else 0,
        )
        for window in windows
    ]


def list_windows(
    tx: Connection,
    *,
    evaluator: str | None = None,
    per: Per | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[WindowState]:
    """The windows with money in them that began in `[since, until)`, the newest first.

    With `evaluator`, its live and backfill ones; `""` gives the global ones.
    """
    statement = select(spend).where(or_(spend.c.spent > 0, spend.c.reserved > 0))
    statement = statement.order_by(spend.c.starts_at.desc(), spend.c.scope, spend.c.name, spend.c.per, spend.c.key)
    if evaluator is not None:
        statement = statement.where(spend.c.name == evaluator)
    if per is not None:
        statement = statement.where(spend.c.per == per)
    if since is not None:
        statement = statement.where(spend.c.starts_at >= since)
    if until is not None:
        statement = statement.where(spend.c.starts_at < until)
    return [
        WindowState(
            window=Window(
                **{name: row[name] for name in ("scope", "name", "per", "key", "starts_at", "ends_at", "cap")}
            ),
            spent=row["spent"],
            reserved=row["reserved"],
        )
        for row in tx.execute(statement).mappings()
    ]
