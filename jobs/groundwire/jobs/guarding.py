"""The guard with the state behind it: its judges pass the ledger, and every check is kept as a row."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from groundwire.connectors import Trace
from groundwire.jobs.outcome import scores_of
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import Settings, load_settings
from groundwire.jobs.spec import EvaluatorSpec, GuardSpec
from groundwire.jobs.store import Store, outcomes, rows, work
from groundwire.jobs.store.outbox import Wanted
from groundwire.jobs.store.rows import StoredRow
from groundwire.scorer import ConfigError, GroundwireError, Guard, GuardCheck, Recorder, Row

__all__ = ["StoredChecks", "build_guard", "open_guard"]

log = logging.getLogger(__name__)

DELIVERY_EVERY = 5.0
"""Seconds between two looks into the outbox."""
CLAIM_FOR = timedelta(seconds=90)


@dataclass(frozen=True, kw_only=True)
class StoredChecks:
    """A `Recorder` in the state: one row a check, and a score in the outbox where the trace is known."""

    store: Store
    spec: GuardSpec
    store_text: bool
    clock: Callable[[], datetime]
    told: Callable[[str, Row], None]
    """Told of every stored row, with the guard's name."""

    async def record(self, check: GuardCheck) -> None:
        """See `Recorder.record`. The same answer to the same trace again is nothing. Raises as the store does."""
        if await self.store.write(self._store, check):
            self.told(self.spec.name, check.row)

    def _store(self, tx: Connection, check: GuardCheck) -> bool:
        now, row, name = self.clock(), check.row, self.spec.name
        arrival = work.Arrival(
            evaluator=name,
            partition_type=row.partition_type,
            partition_id=row.partition_id,
            trace_id=row.trace_id,
            origin={},
            content_hash=check.content_hash,
            not_before=now,
        )
        if not work.enqueue(tx, [arrival], now=now):
            return False
        work_id = work.work_key(name, row.partition_type, row.partition_id)
        items = work.claim(tx, evaluators=[name], limit=1, now=now, until=now + CLAIM_FOR, work_id=work_id)
        if not items:
            return False
        before = next((old for old in rows.history(tx, work_id) if old.superseded_at is None), None)
        start = check.partition.spans[0].start_time
        first = before.facts.get("target_time") if before is not None else None
        outcome = outcomes.Outcome(
            row=row,
            content_hash=check.content_hash,
            scores=self._scores(check, before),
            trace_time=start,
            facts={"target_time": first or start.isoformat()},
        )
        return outcomes.finish(tx, items[0], outcome, now=now, store_text=self.store_text)

    def _scores(self, check: GuardCheck, before: StoredRow | None) -> list[Wanted]:
        source = self.spec.source
        if source is None or check.trace_id is None:
            return []
        trace = Trace(trace_id=check.trace_id, spans=check.partition.spans, source="guard")
        spec = EvaluatorSpec(name=self.spec.name, source=source, metric="unsupported_spans")
        wanted = scores_of(check.row, spec, trace, check.partition, source=source, project=source, before=before)
        return [replace(one, payload=_on_the_trace(one.payload)) for one in wanted]


def _on_the_trace(payload: Any) -> dict[str, Any]:
    """A score stands on the trace itself: the spans that were judged are the guard's, not the platform's."""
    return {**payload, "target": {**payload["target"], "root_span_id": None}}


def build_guard(service: Service) -> Guard | None:
    """The guard of the configuration, if there is one. Raises `ConfigError`: see `Guard.from_config`.

    A line is logged for each key that is a router's own.
    """
    spec = service.settings.guard
    if spec is None:
        return None
    rules, ignored = spec.read()
    for line in ignored:
        log.info("%s", line, extra={"action": "guard"})
    signals = rules.signals
    named = {one.deployment for one in (*signals.fact_check, *signals.hallucination) if one.deployment}
    capped = bool(spec.cap)
    judges = {name: service.judge(name, capped=capped) for name in named}
    judges["default"] = service.judge(spec.judge, capped=capped)
    return Guard(
        rules,
        judges=judges,
        name=spec.name,
        ignored=ignored,
        recorder=_recorder(service, spec) if spec.record else None,
        clock=service.clock,
    )


def _recorder(service: Service, spec: GuardSpec) -> Recorder:
    return StoredChecks(
        store=service.store,
        spec=spec,
        store_text=service.settings.state.store_text,
        clock=service.clock,
        told=service.meter.row,
    )


@asynccontextmanager
async def open_guard(config: Path | str | Settings = Path("groundwire.toml")) -> AsyncIterator[Guard]:
    """The guard of a configuration file, for use inside an application; open it once and keep it.

    Scores are delivered every few seconds, and when it is closed. Raises `ConfigError`, also where no guard is
    configured, and `RetryLater` where the state is away.
    """
    settings = config if isinstance(config, Settings) else load_settings(Path(config))
    if settings.guard is None:
        raise ConfigError("no [guard] is configured")
    async with open_service(settings) as service:
        guard = build_guard(service)
        assert guard is not None  # noqa: S101 - it is configured
        source = settings.guard.source
        delivering = asyncio.create_task(_deliver_always(service, source)) if source is not None else None
        try:
            yield guard
        finally:
            await guard.close()
            if delivering is not None and source is not None:
                delivering.cancel()
                await asyncio.gather(delivering, return_exceptions=True)
                await _deliver(service, source)


async def _deliver_always(service: Service, source: str) -> None:
    while True:
        await asyncio.sleep(DELIVERY_EVERY)
        await _deliver(service, source)


async def _deliver(service: Service, source: str) -> None:
    try:
        await service.mail(source).deliver()
    except GroundwireError as error:  # what is not delivered stays in the outbox
        log.warning("%s", error, extra={"action": "deliver", "source": source})
