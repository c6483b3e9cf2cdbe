"""What this process counts for Prometheus: rows, judge calls, tokens, money, deliveries. Never text of a trace."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter

from groundwire.scorer import Account, Ledger, Reservation, Row, Usage

__all__ = ["Meter", "Metered"]

_KINDS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


class Meter:
    """Counters since the process began. Labels are names of the configuration, and closed sets."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.rows = Counter("groundwire_rows", "Rows made.", ["evaluator", "status"], registry=self.registry)
        self.calls = Counter("groundwire_judge_calls", "Judge calls booked.", ["evaluator"], registry=self.registry)
        self.tokens = Counter(
            "groundwire_judge_tokens", "Tokens of judge calls.", ["evaluator", "kind"], registry=self.registry
        )
        self.micro_dollars = Counter(
            "groundwire_judge_micro_dollars", "What judge calls cost.", ["evaluator"], registry=self.registry
        )
        self.deliveries = Counter(
            "groundwire_deliveries",
            "Deliveries of scores to a platform.",
            ["source", "outcome"],
            registry=self.registry,
        )
        self.hooks = Counter(
            "groundwire_hook_deliveries",
            "Webhook deliveries by answer.",
            ["evaluator", "answer"],
            registry=self.registry,
        )

    def row(self, evaluator: str, row: Row) -> None:
        """Count a row."""
        self.rows.labels(evaluator, row.status).inc()

    def call(self, evaluator: str, usage: Usage) -> None:
        """Count what was booked for a judge call."""
        self.calls.labels(evaluator).inc()
        self.micro_dollars.labels(evaluator).inc(usage.micro_dollars)
        for kind in _KINDS:
            self.tokens.labels(evaluator, kind.removesuffix("_tokens")).inc(getattr(usage, kind))


@dataclass(frozen=True, kw_only=True)
class Metered:
    """A ledger whose bookings are counted."""

    ledger: Ledger
    meter: Meter
    _held: dict[str, str] = field(default_factory=dict)
    """By reservation: the evaluator that it was made for."""

    async def reserve(self, account: Account, micro_dollars: int) -> Reservation | None:
        """See `Ledger.reserve`."""
        reservation = await self.ledger.reserve(account, micro_dollars)
        if reservation is not None:
            self._held[reservation.reservation_id] = account.evaluator
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, cache: Mapping[str, str] | None = None) -> None:
        """See `Ledger.settle`. A second booking of one call is counted once."""
        await self.ledger.settle(reservation, usage, cache)
        evaluator = self._held.pop(reservation.reservation_id, None)
        if evaluator is not None:
            self.meter.call(evaluator, usage)

    async def release(self, reservation: Reservation) -> None:
        """See `Ledger.release`."""
        await self.ledger.release(reservation)
        self._held.pop(reservation.reservation_id, None)
