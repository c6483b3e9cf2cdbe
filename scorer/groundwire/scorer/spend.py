"""Money: what a judge call used, what it cost, and the ledger that every call passes before it is made.

Money is integer micro-dollars (1 USD = 1,000,000); rounding is always up.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["MICRO", "Account", "Ledger", "MemoryLedger", "Reservation", "Usage", "micro_dollars"]

MICRO = 1_000_000
"""Micro-dollars in a dollar."""


def micro_dollars(usd: float) -> int:
    """A budget in micro-dollars, rounded down so that it is never passed."""
    return int(usd * MICRO + 1e-6)


class Usage(BaseModel):
    """What was used, in disjoint buckets: no token is counted twice."""

    model_config = ConfigDict(frozen=True)

    calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    """Prompt tokens without the cached ones."""
    cached_tokens: int = Field(default=0, ge=0)
    """Prompt tokens that the provider read from its cache."""
    output_tokens: int = Field(default=0, ge=0)
    """Completion tokens without the reasoning ones."""
    reasoning_tokens: int = Field(default=0, ge=0)
    micro_dollars: int = Field(default=0, ge=0)
    cache_hits: int = Field(default=0, ge=0)
    """Calls that groundwire's own cache answered: they cost nothing."""
    estimated: bool = False
    """True where a part was charged at its worst case because the reply came without usage, late or not at all."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            micro_dollars=self.micro_dollars + other.micro_dollars,
            cache_hits=self.cache_hits + other.cache_hits,
            estimated=self.estimated or other.estimated,
        )


@dataclass(frozen=True, kw_only=True)
class Account:
    """On whose behalf a call is made: what the ledger needs to find the caps that bind it."""

    evaluator: str = ""
    run_id: str = ""
    trace_id: str = ""
    live: bool = True
    """False for a backfill, which spends its own budget and the global cap, never an evaluator's live window."""


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Money held for one call until it is settled or released."""

    reservation_id: str
    micro_dollars: int


class Ledger(Protocol):
    """Where money is held before a call and booked after it. Every method may be called twice with the same effect."""

    async def reserve(self, account: Account, micro_dollars: int) -> Reservation | None:
        """Hold the worst case of one call, in one atomic step; None where a cap would be passed."""
        ...

    async def settle(self, reservation: Reservation, usage: Usage, cache: Mapping[str, str] | None = None) -> None:
        """Book what the call cost in place of what was held, and its cache entries with it, in one transaction."""
        ...

    async def release(self, reservation: Reservation) -> None:
        """Let go of what was held for a call that was never made."""
        ...


@dataclass
class MemoryLedger:
    """A ledger for one process and one budget."""

    cap: int | None = None
    """Micro-dollars; None spends without a cap."""
    spent: int = 0
    held: dict[str, int] = field(default_factory=dict)
    _ids: "itertools.count[int]" = field(default_factory=itertools.count)

    async def reserve(self, account: Account, micro_dollars: int) -> Reservation | None:  # noqa: ARG002 - one budget
        """See `Ledger.reserve`."""
        if self.cap is not None and self.spent + sum(self.held.values()) + micro_dollars > self.cap:
            return None
        reservation = Reservation(reservation_id=str(next(self._ids)), micro_dollars=micro_dollars)
        self.held[reservation.reservation_id] = micro_dollars
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, cache: Mapping[str, str] | None = None) -> None:  # noqa: ARG002 - the cache is kept beside this ledger
        """See `Ledger.settle`."""
        if self.held.pop(reservation.reservation_id, None) is not None:
            self.spent += usage.micro_dollars

    async def release(self, reservation: Reservation) -> None:
        """See `Ledger.release`."""
        self.held.pop(reservation.reservation_id, None)
