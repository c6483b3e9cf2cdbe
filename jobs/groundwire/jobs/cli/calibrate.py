"""`groundwire calibrate`: the judge held against what people said."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundwire.connectors import Problem
from groundwire.jobs.calibration import (
    Calibration,
    HumanLabel,
    Probes,
    annotated_labels,
    calibrate,
    fetch,
    judge_opener,
    keep,
    labelled_rows,
    read_labels,
    require_budget,
    run_probes,
)
from groundwire.jobs.cli.calibrated import print_calibrations
from groundwire.jobs.cli.explain import read_rows
from groundwire.jobs.cli.judges import ready
from groundwire.jobs.cli.run import parse_time
from groundwire.jobs.cli.score import ScoreOptions, level_of, load_metric
from groundwire.jobs.cli.show import stderr, stdout
from groundwire.jobs.logs import configure_logs
from groundwire.jobs.scoring import Outcome, partitions_in, score_partitions
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import load_settings
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.scorer import (
    ConfigError,
    Judge,
    MemoryCache,
    MemoryLedger,
    Metric,
    Partition,
    PartitionType,
    Row,
    micro_dollars,
)

__all__ = ["CalibrateOptions", "run_calibrate"]


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """What `groundwire calibrate` was asked."""

    labels: Path | None
    files: tuple[str, ...] = ()
    rows: Path | None = None
    evaluator: str | None = None
    config: Path | None = None
    level: str = "trace"
    metric: str = "agent.hallucination"
    each_turn: bool = False
    judge: str = "offline"
    model: str | None = None
    base_url: str | None = None
    max_usd: float | None = None
    probe: bool = False
    repeats: int = 3
    annotations: str | None = None
    """The name of people's scores on the platform, in place of a file of labels."""
    hallucinated: tuple[str, ...] = ()
    since: str = "90d"
    as_json: bool = False


@dataclass(kw_only=True)
class _Result:
    """What a calibration came to."""

    made: list[Calibration] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    probes: Probes | None = None
    kept: str | None = None
    """The evaluator under whose name it was stored."""


def run_calibrate(options: CalibrateOptions) -> int:
    """Hold the judge against the labels and print what came of it. Raises `ConfigError`."""
    if options.annotations is not None and (options.evaluator is None or options.labels is not None):
        raise ConfigError("--annotations reads labels from an evaluator's platform: name --evaluator, and no file")
    if options.evaluator is not None:
        if options.files or options.rows:
            raise ConfigError("--evaluator reads rows and traces of its own; leave the files and --rows out")
        result = asyncio.run(_of_evaluator(options, options.evaluator))
    else:
        result = asyncio.run(_of_files(options))
    if options.as_json:
        stdout.file.write(json.dumps(_as_json(result), ensure_ascii=False) + "\n")
    else:
        print_calibrations(result.made, result.probes)
        if result.kept is not None:
            stdout.print(f"Kept for {result.kept}: `groundwire doctor` and `groundwire report` show it.", markup=False)
    for line in result.skipped:
        stderr.print(f"groundwire: left out: {line}", markup=False, highlight=False, soft_wrap=True)
    return 0


async def _of_evaluator(options: CalibrateOptions, name: str) -> _Result:
    settings = load_settings(options.config)
    configure_logs(form=settings.log.format, level=settings.log.level)
    spec = settings.evaluator(name)
    budget = None if options.max_usd is None else micro_dollars(options.max_usd)
    async with open_service(settings, budget=budget) as service:
        labels = await _labels_of(service, spec, options)
        stored = await labelled_rows(service, name, labels)
        hashes = {one.row.row_id: one.content_hash for one in stored}
        made, skipped = calibrate(labels, [one.row for one in stored], hashes=hashes)
        result = _Result(made=made, skipped=skipped, kept=name)
        if options.probe:
            evaluator = await service.evaluator(spec, live=False)
            fetched = await fetch(service, evaluator, stored)
            result.probes = await run_probes(
                [one.partition for one in fetched],
                evaluator.metric,
                judge_opener(service, spec),
                repeats=options.repeats,
                run_id=_run_id(service),
                evaluator=name,
            )
        current = service.metric(spec).fingerprint
        for calibration in made:
            probes = result.probes if calibration.config_fingerprint == current else None
            await keep(service, name, calibration, probes)
        return result


def _run_id(service: Service) -> str:
    return f"calibrate-{service.clock():%Y%m%dT%H%M%S}"


async def _labels_of(service: Service, spec: EvaluatorSpec, options: CalibrateOptions) -> Sequence[HumanLabel]:
    """From the file, or from the platform."""
    if options.annotations is None:
        return _labels(options)
    since = parse_time(options.since, now=service.clock())
    found = await annotated_labels(service, spec, options.annotations, since=since, hallucinated=options.hallucinated)
    stderr.print(
        f"{found.found} scores {options.annotations!r} of people, {len(found.labels)} on what {spec.name} judged"
        + (f", {found.not_understood} with a value that isn't understood" if found.not_understood else ""),
        markup=False,
        highlight=False,
    )
    return found.labels


def _labels(options: CalibrateOptions) -> list[HumanLabel]:
    if options.labels is None:
        raise ConfigError("name the file of labels, which `groundwire label` writes, or --annotations and --evaluator")
    return read_labels(options.labels)


async def _of_files(options: CalibrateOptions) -> _Result:
    labels = _labels(options)
    if not options.files and options.rows is None:
        raise ConfigError("name the traces that were labelled, or --rows rows.jsonl, or --evaluator NAME")
    if options.probe and not options.files:
        raise ConfigError("--probe asks the judge again: name the files of the traces too")
    asked = ScoreOptions(
        paths=options.files,
        level=options.level,
        metric=options.metric,
        each_turn=options.each_turn,
        config=options.config,
        judge=options.judge,
        model=options.model,
        base_url=options.base_url,
        max_usd=options.max_usd,
    )
    ledger = MemoryLedger(cap=asked.judging.cap)
    if options.rows is not None and not options.files:
        made, skipped = calibrate(labels, list(read_rows(options.rows)))
        return _Result(made=made, skipped=skipped)
    async with _opened(asked, ledger) as metric:
        level = level_of(asked)
        metric.require(level)
        partitions = _labelled_partitions(labels, options, metric, level)
        rows = list(read_rows(options.rows)) if options.rows else await _judged(partitions, metric)
        hashes = {} if options.rows else _hashes(rows, partitions, metric)
        made, skipped = calibrate(labels, rows, hashes=hashes)
        result = _Result(made=made, skipped=skipped)
        if options.probe:
            if all(one.config_fingerprint != metric.fingerprint for one in made):
                raise ConfigError("--rows holds rows of another judge or configuration than the one that --probe asks")

            @asynccontextmanager
            async def opened() -> AsyncIterator[Judge]:
                async with _opened(asked, ledger, cached=False) as again:
                    yield again.judge

            result.probes = await run_probes(partitions, metric, opened, repeats=options.repeats, run_id="calibrate")
    return result


@asynccontextmanager
async def _opened(options: ScoreOptions, ledger: MemoryLedger, *, cached: bool = True) -> AsyncIterator[Metric]:
    """The metric with its judge, closed afterwards."""
    metric = load_metric(options, ledger=ledger, cache=None if cached else MemoryCache(entries=0))
    async with ready(metric.judge, probe=cached):
        yield metric


def _labelled_partitions(
    labels: Sequence[HumanLabel], options: CalibrateOptions, metric: Metric, level: PartitionType
) -> list[Partition]:
    """The partitions that were labelled; a label by row id alone needs `--rows`."""
    by_row: dict[str, str] = {}
    if options.rows is not None:
        by_row = {row.row_id: row.partition_id for row in read_rows(options.rows)}
    elif any(not (label.partition_id or label.trace_id) for label in labels):
        raise ConfigError("a label names its row only; add --rows, or partition_id to the labels")
    ids = {label.partition_id or by_row.get(label.row_id or "") or label.trace_id for label in labels}
    found = []
    for item in partitions_in(options.files, metric=metric, level=level, each_turn=options.each_turn):
        if isinstance(item, Problem):
            stderr.print(f"groundwire: {item}", markup=False, highlight=False, soft_wrap=True)
        elif isinstance(item, Partition) and item.partition_id in ids:
            found.append(item)
    return found


async def _judged(partitions: Sequence[Partition], metric: Metric) -> list[Row]:
    outcomes = score_partitions(iter(partitions), metric, at_once=8, run_id="calibrate")
    rows = [outcome.row async for outcome in outcomes if isinstance(outcome, Outcome)]
    require_budget(rows)
    return rows


def _hashes(rows: Sequence[Row], partitions: Sequence[Partition], metric: Metric) -> dict[str, str]:
    by_id = {partition.partition_id: metric.content_hash(partition) for partition in partitions}
    return {row.row_id: by_id[row.partition_id] for row in rows if row.partition_id in by_id}


def _as_json(result: _Result) -> dict[str, Any]:
    return {
        "calibrations": [one.model_dump(mode="json") for one in result.made],
        "probes": result.probes.model_dump(mode="json") if result.probes else None,
        "left_out": result.skipped,
    }
