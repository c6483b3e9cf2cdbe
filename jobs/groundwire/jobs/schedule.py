"""Running unattended: every source polled at its evaluators' shortest interval, scores delivered between."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from groundwire.connectors import Window
from groundwire.jobs.admission import Evaluator
from groundwire.jobs.delivery import Delivered
from groundwire.jobs.flow import Progress
from groundwire.jobs.service import Service
from groundwire.jobs.store import cursors, gaps
from groundwire.scorer import GiveUp, GroundwireError, RetryLater

__all__ = ["Beside", "Runner", "leased"]

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=90)
"""How long a process may pull a source without renewing its lease."""
DRAIN = 30.0
"""Seconds that work under way has to end in after SIGTERM."""
DELIVERY_EVERY = 5.0
"""Seconds between two looks into the outbox while nothing new was put there."""
Beside = Callable[[asyncio.Event], Awaitable[None]]
"""Something that runs beside the polling until the event is set."""
LAG = timedelta(minutes=10)
"""A source that is further behind than this has a gap until it has caught up."""


@asynccontextmanager
async def leased(service: Service, place: str) -> AsyncIterator[bool]:
    """Whether this process may pull from that place; it may for as long as the block lasts, and nobody else."""
    store, owner = service.store, service.owner
    now = service.clock()
    held = await store.write(cursors.acquire, place, owner=owner, now=now, until=now + LEASE)

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE.total_seconds() / 3)
            now = service.clock()
            with suppress(RetryLater):
                await store.write(cursors.acquire, place, owner=owner, now=now, until=now + LEASE)

    renewing = asyncio.create_task(renew()) if held else None
    try:
        yield held
    finally:
        if renewing is not None:
            renewing.cancel()
            with suppress(RetryLater):
                await store.write(cursors.release, place, owner=owner)


class Runner:
    """Polls sources and delivers scores, once or until it is told to stop."""

    def __init__(self, service: Service, chosen: Sequence[Evaluator], *, run_id: str) -> None:
        self.service = service
        self.run_id = run_id
        self.total = Progress()
        self.delivered = Delivered()
        self.stopped: dict[str, str] = {}
        """Sources that gave up, with the line that says what to do."""
        self.stopped_evaluators: dict[str, str] = {}
        """Evaluators whose judge is lost, with the line that says what to do; their work waits."""
        self.failed: dict[str, str] = {}
        """Sources whose last poll failed for a while, with the reason."""
        self.by_source: dict[str, list[Evaluator]] = {}
        for evaluator in chosen:
            self.by_source.setdefault(evaluator.spec.source, []).append(evaluator)
        guard = service.settings.guard
        self.delivered_to = {*self.by_source, *([guard.source] if guard is not None and guard.source else [])}
        """Sources whose platforms get scores: the evaluators', and the guard's."""
        self._running: set[asyncio.Task[None]] = set()

    async def once(self) -> None:
        """Poll every source once, judge what is due, deliver what came of it."""
        for source in self.by_source:
            await self.poll(source)
            await self.deliver(source)
        for source in sorted(self.delivered_to - set(self.by_source)):
            await self.deliver(source)

    async def forever(self, *, beside: Sequence[Beside] = (), drain: float = DRAIN) -> None:
        """Run until SIGTERM or SIGINT, then let what is under way end within `drain` seconds.

        What runs `beside` runs as long; where one of them fails, everything stops and its error is raised.
        """
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        logging.getLogger("apscheduler").setLevel(logging.ERROR)  # it warns of every overlap it rightly skips
        scheduler = AsyncIOScheduler(
            timezone="UTC", job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        for source, chosen in self.by_source.items():
            every = max(min(self._every(evaluator) for evaluator in chosen), 1.0)
            now = datetime.now(tz=self.service.clock().tzinfo)
            scheduler.add_job(self._job, "interval", seconds=every, args=(source, "poll"), next_run_time=now)
        for source in sorted(self.delivered_to):
            scheduler.add_job(self._job, "interval", seconds=DELIVERY_EVERY, args=(source, "deliver"))
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        scheduler.start()
        others = {asyncio.create_task(_until(stop, one)) for one in beside}
        try:
            await stop.wait()
        finally:
            scheduler.pause()
            under_way = self._running | others
            _, late = await asyncio.wait(under_way, timeout=drain) if under_way else (set(), set())
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
            scheduler.shutdown(wait=False)
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
        for task in others:
            if not task.cancelled():
                task.result()

    def _every(self, evaluator: Evaluator) -> float:
        """Seconds between two polls for an evaluator; a webhook's leave little to find."""
        attached = evaluator.spec.attach == "webhook"
        return self.service.settings.service.reconcile if attached else evaluator.spec.every

    async def _job(self, source: str, what: str) -> None:
        if source in self.stopped:
            return
        task = asyncio.current_task()
        if task is not None:
            self._running.add(task)
        try:
            await (self.poll(source) if what == "poll" else self.deliver(source))
        except GroundwireError as error:
            log.warning("%s", error, extra={"action": what, "source": source})
        finally:
            if task is not None:
                self._running.discard(task)

    async def poll(self, source: str) -> None:
        """One turn of a source's line. What fails for a while is noted as an outage.

        Where another process pulls the source, this one judges what is due with it.
        """
        service, now = self.service, self.service.clock()
        async with leased(service, source) as held:
            if not held:
                log.info("another process pulls it", extra={"action": "lease", "source": source})
            try:
                line = service.line(source, self.by_source[source], run_id=self.run_id)
                await service.ledger.expire()
                self.total += await line.turn(await self._window(source) if held else None)
                self.stopped_evaluators |= line.gave_up
                if held:
                    await self._recovered(source)
            except RetryLater as error:
                self.failed[source] = str(error)
                await self._outage(source, now)
                log.warning("%s", error, extra={"action": "poll", "source": source})
            except GiveUp as error:
                self.stopped[source] = str(error)
                await self._outage(source, now)
                log.error("%s", error, extra={"action": "give_up", "source": source})

    async def _window(self, source: str) -> Window:
        """From where the source was read to; one that was never read begins where its first evaluator does."""
        beginnings = [evaluator.since for evaluator in self.by_source[source]]
        since = [moment for moment in beginnings if moment is not None]
        if not since:
            return Window(start=datetime.fromtimestamp(0, self.service.clock().tzinfo))
        places = await self.service.store.read(cursors.places, source)
        reached = places[0].reached if places else None
        return Window(start=reached or min(since))

    async def _outage(self, source: str, now: datetime) -> None:
        """One gap for as long as the source stays where it is, whichever processes find it away."""
        places = await self.service.store.read(cursors.places, source)
        reached = places[0].reached if places else None
        key = reached.isoformat() if reached is not None else "begin"
        await self.service.store.write(
            gaps.note, source=source, why="outage", key=key, starts_at=reached or now, ends_at=now, now=now
        )

    async def _recovered(self, source: str) -> None:
        """Close what the source has caught up with: after an outage nothing is missing once it was read past it."""
        store, now = self.service.store, self.service.clock()
        self.failed.pop(source, None)
        places = await store.read(cursors.places, source)
        reached = places[0].reached if places else None
        if reached is None:
            return
        open_gaps = await store.read(gaps.list_gaps, source=source)
        caught_up = [gap.gap_id for gap in open_gaps if gap.why in ("outage", "lag") and gap.ends_at <= reached]
        if caught_up:
            await store.write(gaps.close, caught_up, now=now)
        if now - reached > LAG:
            await store.write(
                gaps.note, source=source, why="lag", key="behind", starts_at=reached, ends_at=now, now=now
            )

    async def deliver(self, source: str) -> None:
        """Deliver what is due for a source's platform."""
        try:
            done = await self.service.mail(source).deliver()
            self.delivered += done
            for outcome in ("delivered", "later", "refused"):
                self.service.meter.deliveries.labels(source, outcome).inc(getattr(done, outcome))
        except GiveUp as error:
            self.stopped[source] = str(error)
            log.error("%s", error, extra={"action": "give_up", "source": source})


async def _until(stop: asyncio.Event, one: Beside) -> None:
    """Run something until `stop` is set; its own end is everybody's."""
    try:
        await one(stop)
    finally:
        stop.set()
