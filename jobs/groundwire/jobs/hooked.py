"""What webhooks delivered, as a source: the traces that stored deliveries speak of, read as they stand now."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import JsonValue
from sqlalchemy import Connection

from groundwire.connectors import Finding, Hook, Origin, Page, Sessions, Source, Trace, Wanted, Window
from groundwire.jobs.admission import read_origin, stored_origin
from groundwire.jobs.sampling import draw, inclusion_bound
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import Store, counts, deliveries
from groundwire.jobs.store.deliveries import StoredDelivery
from groundwire.scorer import RetryLater, SkipThis

__all__ = ["Hooked"]

log = logging.getLogger(__name__)

TOGETHER = 20
"""Deliveries that are read at once."""
PAGE = 50
"""Traces of a page."""
AGAIN = 15.0
"""Least seconds before a trace that isn't there yet is looked for again."""


@dataclass(frozen=True, kw_only=True)
class Hooked:
    """A `Source` over one evaluator's deliveries.

    A page is given again until it was stored: a delivery is done when the next page is asked for. What isn't there yet
    stays in the delivery; what is gone, and what sampling leaves out whatever it is, leaves it.
    """

    evaluator: EvaluatorSpec
    hook: Hook
    source: Source
    """Where the traces are read."""
    store: Store
    clock: Callable[[], datetime]

    async def open(self) -> None:
        """Read every delivery that is still as it came, so that its text isn't kept while its traces wait."""
        while batch := await self.store.read(deliveries.unread, self.evaluator.name, limit=TOGETHER):
            for delivery in batch:
                await self._opened(delivery)

    async def pull(
        self,
        window: Window,  # noqa: ARG002 - a delivery has no window
        cursor: Mapping[str, JsonValue] | None,  # noqa: ARG002 - the deliveries themselves say what is left
        *,
        wanted: Wanted | None = None,  # noqa: ARG002 - a delivery's ids are no head that could be asked about
    ) -> AsyncIterator[Page]:
        """Everything that is due, in pages. Raises what reading a trace raises, but for `SkipThis`."""
        while batch := await self.store.read(deliveries.due, self.evaluator.name, now=self.clock(), limit=TOGETHER):
            left = {delivery.delivery_id: await self._opened(delivery) for delivery in batch}
            origins = {origin.trace_id: origin for some in left.values() for origin in some}
            later: dict[str, float] = {}
            listed = list(origins.values())
            for at in range(0, len(listed), PAGE):
                yield await self._page(listed[at : at + PAGE], later)
            await self.store.write(self._keep, left, later)

    async def fetch(self, origin: Origin) -> Trace:
        """See `Source.fetch`."""
        return await self.source.fetch(origin)

    async def fetch_session(self, session_id: str) -> Sequence[Trace]:
        """See `Sessions.fetch_session`. Raises `SkipThis` where the source knows no sessions."""
        if not isinstance(self.source, Sessions):
            raise SkipThis("the source can't read a session by its id")
        return await self.source.fetch_session(session_id)

    async def check(self) -> Sequence[Finding]:
        """See `Source.check`."""
        return await self.source.check()

    async def close(self) -> None:
        """Nothing is held: the source beneath belongs to whoever built it."""

    async def _opened(self, delivery: StoredDelivery) -> list[Origin]:
        """The traces that a delivery is still about; its body is forgotten once they are known."""
        if delivery.body is None:
            return [read_origin(origin) for origin in delivery.origins or ()]
        try:
            found = list(self.hook.receive({}, delivery.body))
        except SkipThis as error:  # it could be read when it came: another version wrote or reads it
            log.warning("%s", error, extra={"action": "hook", "evaluator": self.evaluator.name})
            found = []
        kept = [origin for origin in found if not self._is_sampled_out(origin)]
        await self.store.write(self._open, delivery.delivery_id, kept, len(found) - len(kept))
        return kept

    def _open(self, tx: Connection, delivery_id: str, kept: Sequence[Origin], sampled_out: int) -> None:
        now = self.clock()
        deliveries.keep(tx, delivery_id, [stored_origin(origin) for origin in kept], now=now, not_before=now)
        counts.add(tx, self.evaluator.name, {"sampled_out": sampled_out}, now=now)

    def _is_sampled_out(self, origin: Origin) -> bool:
        """Whether sampling leaves a trace out whatever it holds; a thread's traces aren't known yet."""
        known = "session" not in origin.hints and self.evaluator.level != "session"
        return known and draw(origin.trace_id) >= inclusion_bound(self.evaluator)

    async def _page(self, origins: Sequence[Origin], later: dict[str, float]) -> Page:
        read = await asyncio.gather(*(self._read(origin) for origin in origins))
        traces: list[Trace] = []
        problems: list[str] = []
        for origin, got in zip(origins, read, strict=True):
            match got:
                case RetryLater(after=after):
                    later[origin.trace_id] = max(after, AGAIN)
                case SkipThis():
                    problems.append(str(got))
                case _:
                    traces += got
        return Page(traces=tuple(traces), cursor={}, problems=tuple(problems), seen=len(origins))

    async def _read(self, origin: Origin) -> Sequence[Trace] | RetryLater | SkipThis:
        session = origin.hints.get("session")
        try:
            return await self.fetch_session(session) if isinstance(session, str) else [await self.source.fetch(origin)]
        except (RetryLater, SkipThis) as error:
            return error

    def _keep(self, tx: Connection, left: Mapping[str, Sequence[Origin]], later: Mapping[str, float]) -> None:
        now = self.clock()
        for delivery_id, origins in left.items():
            waiting = [origin for origin in origins if origin.trace_id in later]
            wait = min((later[origin.trace_id] for origin in waiting), default=0.0)
            deliveries.keep(
                tx,
                delivery_id,
                [stored_origin(origin) for origin in waiting],
                now=now,
                not_before=now + timedelta(seconds=wait),
            )
