"""One call to a judge's endpoint: held for, made, tried again, settled."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import stamina
from stamina.instrumentation import RetryDetails, set_on_retry_hooks

from groundwire.scorer.judges.faults import Fault
from groundwire.scorer.prices import Price
from groundwire.scorer.spend import Account, Ledger, Reservation, Usage

__all__ = ["Bill", "Calls", "Deadline", "OverBudget", "Sent"]

log = logging.getLogger("groundwire.judge")

T = TypeVar("T")

FIRST_WAIT = 0.25
"""Seconds; the upper end of the first wait, doubled for every further one (full jitter)."""
LONGEST_WAIT = 10.0
"""Seconds; of a wait that the endpoint didn't ask for."""
MOST_PAID = 2
"""Attempts at one call that may have been billed without giving an answer."""


class OverBudget(Exception):  # noqa: N818 - the outcome's name
    """The ledger refused to hold the worst case of a call: it was not made."""


@dataclass(frozen=True, kw_only=True)
class Sent(Generic[T]):
    """An endpoint's answer and what it says it used."""

    value: T
    usage: Usage | None = None
    """Tokens only; None where the answer doesn't say."""
    keep: Mapping[str, str] | None = None
    """Cache entries that the answer is worth."""


@dataclass(frozen=True, kw_only=True)
class Bill:
    """The most that one call can use."""

    input_tokens: int
    output_tokens: int

    def charged(self, price: Price | None) -> Usage:
        """The worst case as usage."""
        return Usage(
            calls=1,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            micro_dollars=price.worst(self.input_tokens, self.output_tokens) if price else 0,
            estimated=True,
        )


@dataclass(kw_only=True)
class Deadline:
    """When a call, and the partition it is for, must be done; in seconds of the event loop's clock."""

    partition: float = float("inf")
    """Absolute."""
    patient: bool = True
    """False for a first look: an endpoint that can't be reached is then not waited for."""
    spent: Usage = field(default_factory=Usage)
    """What all attempts for this partition's question used so far, failed ones included."""


@dataclass(kw_only=True)
class Calls:
    """The one place where calls are made: slots, the ledger and the retries are here."""

    ledger: Ledger
    price: Price | None
    slots: asyncio.Semaphore
    timeout: float
    """Seconds for one call with its retries; waiting for a slot isn't counted."""

    def __post_init__(self) -> None:
        set_on_retry_hooks([_log_retry])  # stamina's own hook writes the exception, and with it trace text, to the log

    async def make(
        self, send: Callable[[], Awaitable[Sent[T]]], bill: Bill, account: Account, deadline: Deadline
    ) -> Sent[T]:
        """The answer to one call. `send` makes one attempt and raises `Fault`.

        Raises `OverBudget`, and the last `Fault` where no attempt gave an answer in time. What was used is added to
        `deadline.spent`, also when it raises.
        """
        clock = asyncio.get_running_loop().time
        limit: float | None = None
        faults = paid = 0

        def wait(error: Exception) -> bool | float:
            """Seconds until the next attempt; False where there is none."""
            nonlocal faults, paid
            if not isinstance(error, Fault) or not error.retried:
                return False
            if error.kind == "unreachable" and not deadline.patient:
                return False
            faults += 1
            paid += error.billed
            seconds = error.after
            if seconds is None:
                seconds = random.uniform(0, min(LONGEST_WAIT, FIRST_WAIT * 2 ** (faults - 1)))
            if paid >= MOST_PAID or clock() + seconds >= min(limit or clock(), deadline.partition):
                return False
            return max(seconds, 0.001)  # stamina reads 0 as no wait of our own

        async for attempt in stamina.retry_context(on=wait, attempts=None, timeout=None):
            with attempt:
                asked = clock()
                async with self.slots:
                    limit = clock() + self.timeout if limit is None else limit + clock() - asked
                    return await self._attempt(send, bill, account, deadline, min(limit, deadline.partition))
        raise AssertionError("unreachable")  # pragma: no cover - the last attempt returned or raised

    async def _attempt(
        self,
        send: Callable[[], Awaitable[Sent[T]]],
        bill: Bill,
        account: Account,
        deadline: Deadline,
        limit: float,
    ) -> Sent[T]:
        if asyncio.get_running_loop().time() >= limit:
            raise Fault("timeout")
        worst = bill.charged(self.price)
        reservation = await self.ledger.reserve(account, worst.micro_dollars)
        if reservation is None:
            raise OverBudget
        try:
            async with asyncio.timeout_at(limit):
                sent = await send()
        except Fault as fault:
            if fault.billed:
                await self._settle(reservation, worst, deadline)
            else:
                await self.ledger.release(reservation)
            raise
        except TimeoutError:
            await self._settle(reservation, worst, deadline)
            raise Fault("timeout", billed=True, retried=True) from None
        except BaseException:  # cancelled, or a bug: the endpoint may have done its work
            await self._settle(reservation, worst, deadline)
            raise
        used = worst
        if sent.usage is not None:
            used = sent.usage.model_copy(
                update={"calls": 1, "micro_dollars": self.price.cost(sent.usage) if self.price else 0}
            )
        await self._settle(reservation, used, deadline, sent.keep)
        return sent

    async def _settle(
        self, reservation: Reservation, usage: Usage, deadline: Deadline, keep: Mapping[str, str] | None = None
    ) -> None:
        deadline.spent += usage
        await asyncio.shield(self.ledger.settle(reservation, usage, keep))


def _log_retry(details: RetryDetails) -> None:
    """What a retry says: the fault and the wait, nothing of the request."""
    fault = details.caused_by
    log.info(
        "judge call tried again",
        extra={
            "fault": str(fault) if isinstance(fault, Fault) else type(fault).__name__,
            "attempt": details.retry_num,
            "wait_seconds": round(details.wait_for, 3),
        },
    )
