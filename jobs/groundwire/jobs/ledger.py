"""The stored ledger: every judge call of every process passes it, and no cap is ever passed.

Windows are UTC and go by the time of spending. A reservation that nobody settles expires, and is then booked as spent
at its worst case, because the call may have been made and billed.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from groundwire.jobs.store import Store, spend
from groundwire.jobs.store.spend import Per, Scope, Window, WindowState
from groundwire.scorer import Account, GroundwireError, Reservation, Usage

__all__ = ["Cap", "Full", "StoredLedger", "window_end", "window_start"]

POLL = 0.5
"""Seconds between two looks at money that other processes hold."""


@dataclass(frozen=True, kw_only=True)
class Cap:
    """A limit on what is spent in one window."""

    micro_dollars: int
    per: Per


@dataclass(frozen=True, kw_only=True)
class Full:
    """A window that has no room for an amount."""

    window: Window
    spent: int
    """Micro-dollars."""
    reserved: int
    """Micro-dollars held for calls under way."""
    held: bool
    """True where only held money is in the way: there may be room once it is settled."""

    @property
    def until(self) -> datetime | None:
        """When the window rolls; None for a trace or a run, which never do."""
        return self.window.ends_at


def window_start(per: Per, now: datetime) -> datetime | None:
    """The start of the window that a moment falls in, in UTC; weeks begin on Monday. None for a trace or a run."""
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    match per:
        case "hour":
            return hour
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "trace" | "run":
            return None


def window_end(per: Per, now: datetime) -> datetime | None:
    """The end of the window that a moment falls in, exclusive; None for a trace or a run."""
    start = window_start(per, now)
    match per:
        case "hour":
            length = timedelta(hours=1)
        case "day":
            length = timedelta(days=1)
        case "week":
            length = timedelta(days=7)
        case "month":
            return start and (start + timedelta(days=31)).replace(day=1)
        case "trace" | "run":
            return None
    return start and start + length


@dataclass(kw_only=True)
class StoredLedger:
    """A `Ledger` in the state database, shared by any number of tasks and processes.

    A live account is bound by its evaluator's caps and the global ones. A backfill's account is bound by the global
    caps, by `budget` for its whole run (the evaluator's cap per run where there is none), and by the evaluator's cap
    per trace in windows of its own; it never touches the evaluator's live windows. A cap per trace or per run binds
    only accounts that name one. Where no cap counts a day, the day is counted all the same, for `groundwire spend`.
    """

    store: Store
    caps: Mapping[str, Sequence[Cap]] = field(default_factory=dict)
    """By evaluator."""
    everyone: Sequence[Cap] = ()
    """The global caps, over all evaluators and runs."""
    budget: int | None = None
    """Micro-dollars that a backfill may spend in its run; None for no such limit."""
    clock: Callable[[], datetime]
    ttl: timedelta = timedelta(minutes=20)
    """How long a reservation stands; longer than any judge call."""
    patience: float = 60.0
    """Seconds that a reservation waits where only held money is in the way."""
    keep_cache: bool = True
    """False where no text is stored: judges' replies quote the trace."""
    _freed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    async def reserve(self, account: Account, micro_dollars: int) -> Reservation | None:
        """See `Ledger.reserve`. Waits where calls under way may leave room; raises RetryLater as the store does."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self.patience
        while True:
            freed = self._freed
            reservation = await self._try(account, micro_dollars)
            if reservation is not None:
                return reservation
            full = await self.full(account, micro_dollars)
            left = give_up - loop.time()
            if left <= 0 or (full is not None and not full.held):
                return None
            if full is None:
                continue  # it was freed in between
            try:
                async with asyncio.timeout(min(left, POLL)):
                    await freed.wait()
            except TimeoutError:
                continue  # another process may have settled

    async def _try(self, account: Account, micro_dollars: int) -> Reservation | None:
        now = self.clock()
        reservation = Reservation(reservation_id=uuid.uuid4().hex, micro_dollars=micro_dollars)
        writing = asyncio.ensure_future(
            self.store.write(
                spend.reserve,
                self.windows(account, now),
                reservation_id=reservation.reservation_id,
                micro_dollars=micro_dollars,
                evaluator=account.evaluator,
                run_id=account.run_id,
                trace_id=account.trace_id,
                now=now,
                until=now + self.ttl,
            )
        )
        try:
            return reservation if await asyncio.shield(writing) else None
        except asyncio.CancelledError:
            with suppress(GroundwireError):
                if await writing:  # nobody will make this call: its money must not wait for expiry
                    await self.release(reservation)
            raise

    async def settle(self, reservation: Reservation, usage: Usage, cache: Mapping[str, str] | None = None) -> None:
        """See `Ledger.settle`. A cost above what was held is booked as it is."""
        entries = cache if self.keep_cache else None
        await self._settle(reservation, usage.micro_dollars, entries)

    async def release(self, reservation: Reservation) -> None:
        """See `Ledger.release`."""
        await self._settle(reservation, 0, None)

    async def _settle(self, reservation: Reservation, cost: int, entries: Mapping[str, str] | None) -> None:
        booking = self.store.write(spend.settle, reservation.reservation_id, cost, entries=entries, now=self.clock())
        await asyncio.shield(booking)  # the money is spent, whether or not somebody waits for the reply
        self._freed.set()
        self._freed = asyncio.Event()

    async def expire(self) -> int:
        """Book what crashed workers left held as spent, at its worst case; returns how many reservations it were."""
        return await self.store.write(spend.expire, now=self.clock())

    async def full(self, account: Account, micro_dollars: int) -> Full | None:
        """The window that leaves no room for an amount now, the one that rolls last first; None where there is room."""
        windows = [window for window in self.windows(account, self.clock()) if window.cap is not None]
        states = await self.store.read(spend.states, windows)
        full = [_full(state, micro_dollars) for state in states]
        return max((one for one in full if one is not None), key=_severity, default=None)

    def windows(self, account: Account, now: datetime) -> list[Window]:
        """The windows that an account spends in at a moment, with their caps."""
        scope: Scope = "evaluator" if account.live else "backfill"
        chosen: dict[str, Window] = {}
        for cap in self._binding(account):
            _add(chosen, _window(scope, account, cap.per, cap.micro_dollars, now))
        for cap in self.everyone:
            _add(chosen, _window("global", account, cap.per, cap.micro_dollars, now))
        _add(chosen, _window(scope, account, "day", None, now))
        return list(chosen.values())

    def _binding(self, account: Account) -> list[Cap]:
        caps = list(self.caps.get(account.evaluator, ()))
        if account.live:
            return caps
        caps = [cap for cap in caps if cap.per == "trace" or (cap.per == "run" and self.budget is None)]
        return caps if self.budget is None else [*caps, Cap(micro_dollars=self.budget, per="run")]


def _window(scope: Scope, account: Account, per: Per, cap: int | None, now: datetime) -> Window | None:
    start = window_start(per, now)
    match per:
        case "trace":
            key = f"{account.run_id}/{account.trace_id}" if scope == "backfill" else account.trace_id
            named = bool(account.trace_id)
        case "run":
            key, named = account.run_id, bool(account.run_id)
        case _:
            key, named = "" if start is None else start.isoformat(), True
    if not named:
        return None
    return Window(
        scope=scope,
        name="" if scope == "global" else account.evaluator,
        per=per,
        key=key,
        starts_at=start or now,
        ends_at=window_end(per, now),
        cap=cap,
    )


def _add(chosen: dict[str, Window], window: Window | None) -> None:
    """Of two caps on one window the lower binds."""
    if window is None:
        return
    before = chosen.get(window.window_id)
    if before is None or before.cap is None or (window.cap is not None and window.cap < before.cap):
        chosen[window.window_id] = window


def _full(state: WindowState, micro_dollars: int) -> Full | None:
    cap = state.window.cap
    if cap is None or state.spent + state.reserved + micro_dollars <= cap:
        return None
    return Full(
        window=state.window,
        spent=state.spent,
        reserved=state.reserved,
        held=state.spent + micro_dollars <= cap,
    )


def _severity(full: Full) -> tuple[bool, bool, float]:
    """What keeps the account out longest: spent before held, never rolling before rolling, later before sooner."""
    return (not full.held, full.until is None, 0.0 if full.until is None else full.until.timestamp())
