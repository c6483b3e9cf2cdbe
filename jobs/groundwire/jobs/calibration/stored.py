"""Calibrations over the state: the rows that were labelled, their traces as they stand, and the result that is kept."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Connection

from groundwire.connectors import Trace
from groundwire.jobs.admission import Evaluator, read_origin
from groundwire.jobs.calibration.agreement import Calibration
from groundwire.jobs.calibration.drawing import Candidate
from groundwire.jobs.calibration.labels import HumanLabel
from groundwire.jobs.calibration.probes import OpenJudge, Probes
from groundwire.jobs.delivery import Delivered
from groundwire.jobs.fetching import fetch_traces, partition_in
from groundwire.jobs.outcome import target_of
from groundwire.jobs.service import Service
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import calibrations, outbox, rows
from groundwire.jobs.store.calibrations import StoredCalibration
from groundwire.jobs.store.outbox import Wanted
from groundwire.jobs.store.rows import StoredRow
from groundwire.scorer import Judge, MemoryCache, Partition, RetryLater, SkipThis, build_judge, require_price

__all__ = [
    "Fetched",
    "Standing",
    "annotate",
    "candidates_of",
    "fetch",
    "judge_opener",
    "keep",
    "labelled_rows",
    "rows_with",
    "standing",
]

AT_ONCE = 8
"""Traces that are fetched at once."""


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A row with its trace as it stands on the platform now."""

    stored: StoredRow
    trace: Trace
    partition: Partition


async def candidates_of(service: Service, evaluator: str, fingerprint: str) -> list[Candidate]:
    """The evaluator's current rows of that configuration that have an answer to look at."""
    return await service.store.read(_candidates, evaluator, fingerprint)


def _candidates(tx: Connection, evaluator: str, fingerprint: str) -> list[Candidate]:
    return [
        Candidate(row_id=row_id, status=status, score=score, inclusion=inclusion)
        for row_id, status, score, inclusion in calibrations.judged(tx, evaluator, fingerprint)
    ]


async def rows_with(service: Service, row_ids: Sequence[str]) -> list[StoredRow]:
    """The rows of those ids."""
    found = [await service.store.read(rows.find, row_id) for row_id in row_ids]
    return [stored for stored in found if stored is not None]


async def annotate(
    service: Service, evaluator: str, score: str, labels: Sequence[tuple[HumanLabel, Fetched]]
) -> Delivered:
    """Write each label as a score of that name beside the judge's, once however often it is asked."""
    spec = service.settings.evaluator(evaluator)
    for label, fetched in labels:
        partition = fetched.partition
        target = target_of(fetched.trace, partition, project=spec.source, before=fetched.stored)
        wanted = Wanted(
            source=spec.source,
            project=spec.source,
            target=f"{partition.partition_type}:{partition.partition_id}",
            evaluator=evaluator,
            score_name=score,
            payload={
                "name": score,
                "value": label.label,
                "target": target,
                "metadata": {"row_id": fetched.stored.row.row_id, "labeller": label.labeller or "a person"},
                "lower_is_better": False,
            },
            comment=label.reason,
        )
        await service.store.write(outbox.put, wanted, row_id=label.row_id, run_id="label", now=service.clock())
    return await service.mail(spec.source).deliver()


async def labelled_rows(service: Service, evaluator: str, labels: Sequence[HumanLabel]) -> list[StoredRow]:
    """The evaluator's current rows of what was labelled."""
    return await service.store.read(
        calibrations.labelled,
        evaluator,
        partition_ids=[label.partition_id for label in labels if label.partition_id],
        row_ids=[label.row_id for label in labels if label.row_id and not label.partition_id],
        trace_ids=[label.trace_id for label in labels if label.trace_id and not (label.row_id or label.partition_id)],
    )


async def fetch(service: Service, evaluator: Evaluator, stored_rows: Sequence[StoredRow]) -> list[Fetched]:
    """The traces of those rows, in their order, without those that are gone or can't be had now."""
    source = service.source(evaluator.spec.source)
    known = await service.store.read(calibrations.origins, [stored.work_id for stored in stored_rows])
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(stored: StoredRow) -> Fetched | None:
        origin = known.get(stored.work_id)
        if origin is None:
            return None
        async with slots:
            try:
                session = stored.row.session_id if stored.row.partition_type == "session" else None
                traces = await fetch_traces(source, read_origin(origin), session_id=session)
            except (SkipThis, RetryLater):
                return None
        partition = partition_in(traces, stored.row.partition_id, evaluator)
        return None if partition is None else Fetched(stored=stored, trace=traces[-1], partition=partition)

    found = await asyncio.gather(*(one(stored) for stored in stored_rows))
    return [fetched for fetched in found if fetched is not None]


def judge_opener(service: Service, spec: EvaluatorSpec) -> OpenJudge:
    """Opens an evaluator's judge with no cache, spending through the ledger. Raises `ConfigError`."""
    config = service.judge_config(spec)
    if service.budget is not None or service.settings.cap:
        require_price(config)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Judge]:
        ledger = replace(service.ledger, keep_cache=False)
        judge = build_judge(
            config, ledger=ledger, cache=MemoryCache(entries=0), metric=spec.config, settings=spec.settings
        )
        try:
            yield judge
        finally:
            await judge.close()

    return opened


async def keep(service: Service, evaluator: str, calibration: Calibration, probes: Probes | None) -> StoredCalibration:
    """Store a calibration, without the texts of the rows on which judge and people differ."""
    head = calibration.headline
    figures = calibration.model_dump(mode="json", exclude={"differences", "judge"})
    figures["differences"] = [one.row_id for one in calibration.differences]
    figures["probes"] = None if probes is None else probes.model_dump(mode="json")
    made = StoredCalibration(
        evaluator=evaluator,
        metric=calibration.metric,
        metric_version=calibration.metric_version,
        partition_type=calibration.partition_type,
        fingerprint=calibration.config_fingerprint,
        judge=calibration.judge,
        n=head.n if head else 0,
        kappa=head.value if head else None,
        figures=figures,
        made_at=service.clock(),
    )
    await service.store.write(calibrations.add, made)
    return made


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What an evaluator's newest calibration is worth today, in one line."""

    text: str
    stale: bool


def standing(
    made: StoredCalibration | None, *, judge: Mapping[str, JsonValue], fingerprint: str, now: datetime
) -> Standing | None:
    """Say how long ago the judge was calibrated, on how much, how well; stale where it is another one now."""
    if made is None:
        return None
    days = max((now - made.made_at).days, 0)
    when = "today" if days == 0 else f"{days} {'day' if days == 1 else 'days'} ago"
    kappa = "undefined" if made.kappa is None else f"{made.kappa:.2f}"
    text = f"judge calibrated {when} on {made.n} rows: kappa {kappa}"
    if dict(made.judge) != dict(judge):
        return Standing(
            text=f"{text}; stale: the judge has changed since, run `groundwire calibrate` again", stale=True
        )
    if made.fingerprint != fingerprint:
        text = f"{text}; stale: the configuration has changed since, run `groundwire calibrate` again"
        return Standing(text=text, stale=True)
    return Standing(text=text, stale=False)
