"""Any interleaving of reserve, settle, release and expire keeps `spent + reserved ≤ cap`."""

import asyncio
from datetime import datetime, timedelta
from functools import partial

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Connection, Table, delete

from groundwire.jobs.ledger import Cap, StoredLedger
from groundwire.jobs.store import Store, open_store, spend
from groundwire.jobs.store.schema import reservations
from groundwire.jobs.store.schema import spend as spend_table
from groundwire.scorer import Account, Reservation, Usage

from .conftest import Clock

CAPS = {
    "a": (Cap(micro_dollars=90, per="hour"), Cap(micro_dollars=150, per="day"), Cap(micro_dollars=40, per="trace")),
    "b": (Cap(micro_dollars=70, per="run"),),
}
EVERYONE = (Cap(micro_dollars=180, per="day"),)


def clear(tx: Connection, table: Table) -> None:
    tx.execute(delete(table))


class Spending(RuleBasedStateMachine):
    """Accounts that reserve and settle in any order against a model that only adds up."""

    holdings = Bundle("holdings")

    def __init__(self, loop: asyncio.AbstractEventLoop, store: Store) -> None:
        super().__init__()
        self.loop = loop
        self.store = store
        self.clock = Clock()
        for table in (reservations, spend_table):
            self.loop.run_until_complete(self.store.write(clear, table))
        self.ledger = StoredLedger(
            store=self.store,
            caps=CAPS,
            everyone=EVERYONE,
            budget=60,
            clock=self.clock,
            ttl=timedelta(minutes=20),
            patience=0.0,
        )
        self.held: dict[str, int] = {}
        self.booked = 0
        self.expiry: dict[str, datetime | None] = {}
        """When each reservation lapses; None once it did."""

    @rule(
        target=holdings,
        evaluator=st.sampled_from(["a", "b"]),
        trace=st.sampled_from(["", "t1", "t2"]),
        run=st.sampled_from(["r1", "r2"]),
        live=st.booleans(),
        amount=st.integers(0, 60),
    )
    def reserve(self, evaluator: str, trace: str, run: str, live: bool, amount: int) -> Reservation | None:
        account = Account(evaluator=evaluator, trace_id=trace, run_id=run, live=live)
        reservation = self.loop.run_until_complete(self.ledger.reserve(account, amount))
        if reservation is not None:
            self.held[reservation.reservation_id] = amount
            self.expiry[reservation.reservation_id] = self.clock.now + self.ledger.ttl
        return reservation

    @rule(reservation=holdings, share=st.floats(0, 1), again=st.booleans())
    def settle(self, reservation: Reservation | None, share: float, again: bool) -> None:
        if reservation is None:
            return
        cost = int(reservation.micro_dollars * share)
        for _ in range(1 + again):
            self.loop.run_until_complete(self.ledger.settle(reservation, Usage(micro_dollars=cost)))
        self._end(reservation, cost)

    @rule(reservation=consumes(holdings))
    def release(self, reservation: Reservation | None) -> None:
        if reservation is not None:
            self.loop.run_until_complete(self.ledger.release(reservation))
            self._end(reservation, 0)

    def _end(self, reservation: Reservation, cost: int) -> None:
        if reservation.reservation_id in self.held:
            del self.held[reservation.reservation_id]
            self.booked += cost
        elif reservation.reservation_id in self.expiry and self.expiry[reservation.reservation_id] is None:
            self.booked += cost - reservation.micro_dollars
        self.expiry.pop(reservation.reservation_id, None)

    @rule(minutes=st.sampled_from([-30, 1, 21, 61, 24 * 60]))
    def time_passes(self, minutes: int) -> None:
        self.clock.forward(minutes=minutes)

    @rule()
    def expire(self) -> None:
        self.loop.run_until_complete(self.ledger.expire())
        for reservation_id, until in list(self.expiry.items()):
            if until is not None and until <= self.clock.now:
                self.expiry[reservation_id] = None
                self.booked += self.held.pop(reservation_id)

    @invariant()
    def no_cap_is_passed_and_nothing_is_lost(self) -> None:
        states = self.loop.run_until_complete(self.store.read(spend.list_windows))
        for state in states:
            assert state.spent >= 0
            assert state.reserved >= 0
            if state.window.cap is not None:
                assert state.spent + state.reserved <= state.window.cap
        days = [state for state in states if state.window.per == "day" and state.window.scope != "global"]
        assert sum(state.spent for state in days) == self.booked
        assert sum(state.reserved for state in days) == sum(self.held.values())
        everyone = [state for state in states if state.window.scope == "global"]
        assert sum(state.spent + state.reserved for state in everyone) == self.booked + sum(self.held.values())


def test_any_interleaving(sqlite_url):
    with asyncio.Runner() as runner:
        store = runner.run(open_store(sqlite_url))
        try:
            run_state_machine_as_test(
                partial(Spending, runner.get_loop(), store),  # type: ignore[arg-type]  # any factory of machines will do
                settings=settings(max_examples=40, stateful_step_count=25, deadline=None),
            )
        finally:
            runner.run(store.close())
