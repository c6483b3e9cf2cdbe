"""Attached evaluators: what webhooks delivered is taken up as it comes, and judged as it settles."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from groundwire.connectors import Window
from groundwire.jobs.admission import Evaluator
from groundwire.jobs.flow import Progress
from groundwire.jobs.hooked import Hooked
from groundwire.jobs.schedule import leased
from groundwire.jobs.service import Service
from groundwire.jobs.store import deliveries
from groundwire.scorer import GiveUp, GroundwireError, RetryLater

__all__ = ["Intake"]

log = logging.getLogger(__name__)

LOOK_EVERY = 2.0
"""Seconds between two looks while nothing is delivered: what was delivered before may have settled."""
KNOWN_FOR = timedelta(days=7)
"""How long a delivery that is done is remembered, so that the same again is known."""


class Intake:
    """Takes up the deliveries of every evaluator that is attached by webhook."""

    def __init__(self, service: Service, attached: Sequence[Evaluator], *, run_id: str) -> None:
        self.service = service
        self.attached = attached
        self.run_id = run_id
        self.total = Progress()
        self.stopped: dict[str, str] = {}
        """By evaluator: why its source is lost, with the line that says what to do. Its deliveries wait."""
        self._arrived = _Bell()
        self._opened = _Bell()
        self._loop: asyncio.AbstractEventLoop | None = None

    def arrived(self) -> None:
        """Look now: a delivery was stored. May be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._arrived.tell)

    async def run(self, stop: asyncio.Event) -> None:
        """Read what is delivered at once, and take it up as fast as it is judged, until `stop` is set."""
        self._loop = asyncio.get_running_loop()
        taking = asyncio.create_task(self._taking())
        opening = asyncio.create_task(self._opening())
        stopping = asyncio.create_task(stop.wait())
        tasks = {taking, opening, stopping}
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks - done:
            task.cancel()
        await asyncio.gather(*(tasks - done), return_exceptions=True)
        for task in done:
            task.result()

    async def once(self) -> None:
        """Take up what is due, one evaluator beside the other: a slow one holds no other up."""
        await asyncio.gather(*(self._turn(evaluator) for evaluator in self.attached))
        with suppress(RetryLater):
            await self.service.store.write(deliveries.forget, self.service.clock() - KNOWN_FOR)

    async def _taking(self) -> None:
        while True:
            await self.once()
            await self._opened.wait_for(LOOK_EVERY)

    async def _opening(self) -> None:
        while True:
            for evaluator in self.attached:
                with suppress(RetryLater):
                    await self._hooked(evaluator).open()
            self._opened.tell()
            await self._arrived.wait_for(LOOK_EVERY)

    def _hooked(self, evaluator: Evaluator) -> Hooked:
        service, spec = self.service, evaluator.spec
        return Hooked(
            evaluator=spec,
            hook=service.hook(spec.source),
            source=service.source(spec.source),
            store=service.store,
            clock=service.clock,
        )

    async def _turn(self, evaluator: Evaluator) -> None:
        spec, service = evaluator.spec, self.service
        if spec.name in self.stopped:
            return
        place = f"hook/{spec.name}"
        try:
            async with leased(service, place) as held:
                if held:
                    line = service.line(spec.source, [evaluator], run_id=self.run_id)
                    line = replace(line, source=self._hooked(evaluator))
                    self.total += await line.turn(Window(start=service.clock()), cursor_name=place)
        except GiveUp as error:
            self.stopped[spec.name] = str(error)
            log.error("%s", error, extra={"action": "give_up", "evaluator": spec.name})
        except GroundwireError as error:
            log.warning("%s", error, extra={"action": "hook", "evaluator": spec.name})


class _Bell:
    """Wakes whoever waits for it, or lets them go on after a while."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def tell(self) -> None:
        self._rung.set()

    async def wait_for(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        self._rung.clear()
