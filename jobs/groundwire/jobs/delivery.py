"""Delivery: what stands in the outbox goes to the platform, until it is there or is a dead letter."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import Connection

from groundwire.connectors import Delivery, Sink
from groundwire.jobs.outcome import backoff, score_of
from groundwire.jobs.store import Store, outbox
from groundwire.jobs.store.outbox import Entry
from groundwire.scorer import RetryLater

__all__ = ["Delivered", "Mail", "score_id"]

log = logging.getLogger(__name__)

NAMESPACE = uuid.UUID("6f0e3f0a-4d3c-5a57-9b1c-0f6f2c1d9a41")
"""Under which score ids are derived: changing it would double every score."""
CLAIM_FOR = timedelta(seconds=120)
MOST_ATTEMPTS = 20
"""Deliveries of one score before it is a dead letter: about half a day of an unreachable platform, then `retry`."""


def score_id(entry: Entry) -> str:
    """The id of a score: the same for the same (project, target, evaluator, score name) and generation."""
    return str(uuid.uuid5(NAMESPACE, f"{entry.score_key}:{entry.generation}"))


def _unwatched(step: Literal["deliver"]) -> None:
    """What happens at a delivery where nobody watches."""


@dataclass(kw_only=True)
class Delivered:
    """What deliveries came to."""

    delivered: int = 0
    later: int = 0
    refused: int = 0

    def __add__(self, other: "Delivered") -> "Delivered":
        return Delivered(
            delivered=self.delivered + other.delivered,
            later=self.later + other.later,
            refused=self.refused + other.refused,
        )


@dataclass(frozen=True, kw_only=True)
class Mail:
    """The way from the outbox to one source's platform."""

    source: str
    sink: Sink
    store: Store
    clock: Callable[[], datetime]
    batch: int = 100
    at: Callable[[Literal["deliver"]], None] = _unwatched

    async def deliver(self) -> Delivered:
        """Deliver everything that is due. Raises GiveUp as the sink does; the entries stay and are due later."""
        total = Delivered()
        while True:
            now = self.clock()
            entries = await self.store.write(
                outbox.claim, self.source, limit=self.batch, now=now, until=now + CLAIM_FOR
            )
            if not entries:
                return total
            await self._push(entries, total)

    async def _push(self, entries: list[Entry], total: Delivered) -> None:
        self.at("deliver")
        scores = [score_of(entry, score_id=score_id(entry)) for entry in entries]
        try:
            deliveries = await self.sink.push(scores)
        except RetryLater as error:
            deliveries = [
                Delivery(score_id=score.score_id, state="retry", reason=str(error), after=error.after)
                for score in scores
            ]
        except BaseException:
            await self.store.write(self._all_later, entries)
            raise
        await self.store.write(self._settle, list(zip(entries, deliveries, strict=True)))
        for entry, delivery in zip(entries, deliveries, strict=True):
            match self._fate(entry, delivery):
                case "delivered":
                    total.delivered += 1
                case "retry":
                    total.later += 1
                case "refused":
                    total.refused += 1
                    log.error(
                        "score refused",
                        extra={"action": "dead_letter", "evaluator": entry.evaluator, "row_id": entry.row_id},
                    )

    def _fate(self, entry: Entry, delivery: Delivery) -> str:
        return "refused" if delivery.state == "retry" and entry.attempts >= MOST_ATTEMPTS else delivery.state

    def _settle(self, tx: Connection, results: list[tuple[Entry, Delivery]]) -> None:
        now = self.clock()
        done = [entry for entry, delivery in results if self._fate(entry, delivery) == "delivered"]
        outbox.deliver(tx, done, now=now)
        for entry, delivery in results:
            match self._fate(entry, delivery):
                case "retry":
                    wait = max(delivery.after, backoff(entry.attempts, key=entry.score_key))
                    outbox.retry(tx, entry, not_before=now + timedelta(seconds=wait), error=delivery.reason)
                case "refused":
                    outbox.bury(tx, entry, error=delivery.reason)

    def _all_later(self, tx: Connection, entries: list[Entry]) -> None:
        for entry in entries:
            outbox.retry(tx, entry, not_before=self.clock() + timedelta(seconds=60), error="the sink gave up")
