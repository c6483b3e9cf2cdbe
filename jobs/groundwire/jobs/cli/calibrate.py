"""`groundwire calibrate`: the judge held against what people said."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from groundwire.jobs.calibration import (
    Agreement,
    Bias,
    Calibration,
    HumanLabel,
    NoCache,
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
from groundwire.jobs.cli.explain import read_rows
from groundwire.jobs.cli.run import parse_time
from groundwire.jobs.cli.score import ScoreOptions, level_of, load_metric
from groundwire.jobs.cli.show import stderr, stdout
from groundwire.jobs.logs import configure_logs
from groundwire.jobs.scoring import Outcome, partitions_in, score_partitions
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import load_settings
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.scorer import (
    MICRO,
    ConfigError,
    Interval,
    Judge,
    Kappa,
    LLMJudge,
    MemoryLedger,
    Metric,
    Partition,
    PartitionType,
    Row,
    micro_dollars,
)

__all__ = ["CalibrateOptions", "run_calibrate"]

SHOWN = 10
"""Most differences that are printed; `--json` has all."""


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
        _print(result)
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
    ledger = MemoryLedger(cap=None if options.max_usd is None else micro_dollars(options.max_usd))
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
    metric = load_metric(options, ledger=ledger, cache=None if cached else NoCache())
    try:
        if cached and isinstance(metric.judge, LLMJudge):
            await metric.judge.probe()
        yield metric
    finally:
        if isinstance(metric.judge, LLMJudge):
            await metric.judge.close()


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
    read = partitions_in(options.files, metric=metric, level=level, each_turn=options.each_turn)
    return [item for item in read if isinstance(item, Partition) and item.partition_id in ids]


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


# -- what is printed


def _print(result: _Result) -> None:
    for calibration in result.made:
        _print_calibration(calibration)
    if result.probes is not None:
        _print_probes(result.probes)
    for calibration in result.made:
        _print_differences(calibration)
    if result.kept is not None:
        stdout.print(f"Kept for {result.kept}: `groundwire doctor` and `groundwire report` show it.", markup=False)


def percent(value: float) -> str:
    """A share in words."""
    return f"{100 * value:.0f} %"


def _range(interval: Interval | None, *, share: bool = False) -> str:
    if interval is None:
        return ""
    if share:
        return f"({100 * interval.low:.0f} to {100 * interval.high:.0f} %)"
    return f"({interval.low:.2f} to {interval.high:.2f})"


def _kappa(kappa: Kappa) -> str:
    if kappa.value is None:
        return "undefined: one label only"
    return f"{kappa.value:.2f} {_range(kappa.interval)}"


def _print_calibration(one: Calibration) -> None:
    judge = f"{one.judge.get('kind')} {one.judge.get('model')}"
    stdout.rule(Text(f"{one.metric} {one.metric_version} · {one.partition_type} · {judge}"), align="left")
    left = [f"{one.without_verdict} without a verdict of the judge"] if one.without_verdict else []
    left += [f"{one.changed} of answers that have changed since"] if one.changed else []
    stdout.print(f"{one.labels} labels" + "".join(f", {text}" for text in left), highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "n", "agreement", "Cohen's kappa"):
        table.add_column(name)
    for name, found in (("per row", one.rows), ("per claim", one.claims)):
        if found is not None:
            interval = _range(found.agreement_interval, share=True)
            table.add_row(name, str(found.kappa.n), f"{percent(found.kappa.agreement)} {interval}", _kappa(found.kappa))
    if one.scores is not None:
        table.add_row("numbers", str(one.scores.n), "–", f"{_kappa(one.scores)}, quadratic weights")
    stdout.print(table)
    if one.weighted_agreement is not None:
        interval = _range(one.weighted_interval, share=True)
        stdout.print(
            f"weighted to all rows that could have been drawn: agreement {percent(one.weighted_agreement)} {interval}",
            highlight=False,
        )
    for name, found in (("per row", one.rows), ("per claim", one.claims)):
        if found is not None:
            _print_table(name, found)
    if one.claims_labelled and one.claims_found < one.claims_labelled:
        stdout.print(
            f"{one.claims_found} of {one.claims_labelled} claims that people labelled are claims of the judge too",
            highlight=False,
        )
    if one.threshold is not None:
        side = "from" if one.lower_is_better else "below"
        stdout.print(
            f"best threshold: hallucinated {side} {one.threshold.at:.2f}, agreement "
            f"{percent(one.threshold.agreement)}, kappa {one.threshold.kappa:.2f} (chosen on these labels)",
            highlight=False,
        )


def _print_table(name: str, found: Agreement) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"{name}: people")
    for label in found.confusion.labels:
        table.add_column(f"judge {label}", justify="right")
    for label, counts in zip(found.confusion.labels, found.confusion.counts, strict=True):
        table.add_row(label, *map(str, counts))
    stdout.print(table)
    one = found.hallucinated
    said = "–" if one.precision is None else f"{one.precision:.2f} {_range(one.precision_interval)}"
    there = "–" if one.recall is None else f"{one.recall:.2f} {_range(one.recall_interval)}"
    stdout.print(f"hallucinated: precision {said}, recall {there}", highlight=False)


def _print_probes(probes: Probes) -> None:
    stdout.rule("probes", align="left")
    one = probes.retest
    _verdict(
        "test-retest",
        one.found,
        f"{one.flipped} of {one.n} verdicts changed over {one.repeats} calls {_range(one.flipped_interval, share=True)}"
        f", judgements {one.spread:.3f} apart",
    )
    _print_bias(
        "position", probes.position, "evidence shuffled: judgements move {effect:+.3f} further than between calls"
    )
    _print_bias("verbosity", probes.verbosity, "claims padded: scores move by {effect:+.3f}")
    stdout.print(f"{probes.calls} judge calls, ${probes.micro_dollars / MICRO:.6f}", highlight=False)


def _print_bias(name: str, bias: Bias | None, words: str) -> None:
    if bias is None:
        stdout.print(f"{name:<12} not probed: fewer than ten rows have evidence whose order can change", markup=False)
        return
    what = words.format(effect=bias.effect)
    _verdict(name, bias.found, f"{what} {_range(bias.interval)}, {bias.flipped} of {bias.n} verdicts changed")


def _verdict(name: str, found: bool, text: str) -> None:
    word = "[red]FOUND[/]" if found else "[green]not seen[/]"
    stdout.print(f"{name:<12} {word}  {text}", highlight=False, soft_wrap=True)


def _print_differences(one: Calibration) -> None:
    if not one.differences:
        return
    stdout.rule(f"where they differ: {len(one.differences)}", align="left")
    for found in one.differences[:SHOWN]:
        score = "" if found.score is None else f" ({found.score:.2f})"
        stdout.print(Text(f"{found.row_id}  trace {found.trace_id}", style="bold"))
        stdout.print(Text(f"  people  {found.people}: {found.people_reason or 'no reason given'}"))
        stdout.print(Text(f"  judge   {found.judge}{score}: {found.judge_reason}"))
    if len(one.differences) > SHOWN:
        stdout.print(f"and {len(one.differences) - SHOWN} more: --json shows all", highlight=False)
