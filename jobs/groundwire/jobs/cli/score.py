"""`groundwire score`: the traces in files, scored without any state."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import ValidationError
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from groundwire.connectors import FORMATS, Format, Problem, Rejected
from groundwire.jobs.cli.judges import JudgeOptions, read_config, ready
from groundwire.jobs.cli.show import print_counts, print_rows, stderr, stdout
from groundwire.jobs.report import ReportEntry, open_html
from groundwire.jobs.scoring import Counts, Halt, Outcome, partitions_in, score_partitions
from groundwire.jobs.settings import one_line
from groundwire.scorer import (
    MICRO,
    Cache,
    ConfigError,
    Estimate,
    GiveUp,
    MemoryCache,
    MemoryLedger,
    Metric,
    Partition,
    PartitionType,
    Row,
    build_judge,
    build_metric,
    metric_kind,
)

__all__ = ["AT_ONCE", "ScoreOptions", "format_named", "level_of", "load_metric", "report_entry", "run_score"]

SHOWN = 20
"""Most rows in the table that `score` prints: those with the worst scores."""
AT_ONCE = 8
"""Partitions under way at once where nothing else is asked for: the manifest's max_concurrency."""
USUAL = {"evidence_policy": "relevant", "recheck": True}
"""Settings where nothing else is asked for, as `groundwire init` would write them, of the metrics that have them."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """What the command line asked for."""

    paths: tuple[str, ...]
    level: str = "trace"
    metric: str = "agent.hallucination"
    config: Path | None = None
    out: Path | None = None
    as_json: bool = False
    file_format: str | None = None
    html: Path | None = None
    each_turn: bool = False
    evidence_policy: str | None = None
    recheck: bool | None = None
    judge: str = "offline"
    model: str | None = None
    base_url: str | None = None
    max_usd: float | None = None
    concurrency: int | None = None
    dry_run: bool = False
    prompts: bool = False

    @property
    def judging(self) -> JudgeOptions:
        """What of it is about the judge."""
        return JudgeOptions(
            kind=self.judge, model=self.model, base_url=self.base_url, max_usd=self.max_usd, config=self.config
        )


def run_score(options: ScoreOptions) -> int:
    """Score and print; the exit code: 0 done, 1 some rows or files failed, 130 interrupted. Raises `ConfigError`."""
    _check(options)
    ledger = MemoryLedger(cap=options.judging.cap)
    metric = load_metric(options, ledger=ledger)
    level = level_of(options)
    metric.require(level)
    partitions = partitions_in(
        options.paths,
        metric=metric,
        level=level,
        file_format=format_named(options.file_format),
        each_turn=options.each_turn,
    )
    if options.dry_run:
        return _dry_run(partitions, metric)
    return asyncio.run(_judged(partitions, metric, options))


async def _judged(partitions: Iterator[Partition | Rejected | Problem], metric: Metric, options: ScoreOptions) -> int:
    """Score, with a judge that was probed before the first trace and is closed after the last."""
    async with ready(metric.judge):
        return await _score(partitions, metric, options)


def _dry_run(partitions: Iterator[Partition | Rejected | Problem], metric: Metric) -> int:
    """Print what judging would take, and make no call."""
    found, n, problems = Estimate(), 0, 0
    for item in partitions:
        if isinstance(item, Problem):
            problems += 1
            stderr.print(f"groundwire: {item}", markup=False, highlight=False, soft_wrap=True)
        elif isinstance(item, Partition):
            n += 1
            found += metric.outlook(item)
    stdout.print(
        f"{n:,} partitions, {found.calls:,} judge calls, about {found.expected_input_tokens:,} tokens in and "
        f"{found.expected_output_tokens:,} out",
        highlight=False,
        soft_wrap=True,
    )
    if not found.priced:
        stdout.print("cost unknown: the judge's price isn't known")
    elif found.worst_micro_dollars:
        expected, worst = found.expected_micro_dollars / MICRO, found.worst_micro_dollars / MICRO
        stdout.print(f"about ${expected:.4f}, at most ${worst:.4f}; nothing was asked", highlight=False)
    else:
        stdout.print("free; nothing was asked")
    return 1 if problems else 0


def _check(options: ScoreOptions) -> None:
    for path in (options.out, options.html):
        if path is not None and path.is_dir():
            raise ConfigError(f"{path} is a folder; name a file")
        if path is not None and not path.absolute().parent.is_dir():
            raise ConfigError(f"{path.parent} is no folder; make it first")


def level_of(options: ScoreOptions) -> PartitionType:
    """Each turn of a conversation is a span. Raises `ConfigError`."""
    match options.level:
        case "span" | "trace" as level:
            return "span" if options.each_turn else level
        case "session" if options.each_turn:
            raise ConfigError("--each-turn makes a span of every turn; --level session judges the last one")
        case "session":
            return "session"
        case other:
            raise ConfigError(f"--level is span, trace or session, not {other!r}")


def format_named(name: str | None) -> Format | None:
    """The format of that name. Raises `ConfigError`."""
    found = next((one for one in FORMATS if one == name), None)
    if name is not None and found is None:
        raise ConfigError(f"--format is one of {', '.join(FORMATS)}, not {name!r}")
    return found


def load_metric(options: ScoreOptions, *, ledger: MemoryLedger, cache: Cache | None = None) -> Metric:
    """The metric as the options and the configuration file ask for it. Raises `ConfigError`.

    What nobody sets is as `groundwire init` would write it: `relevant` evidence with `recheck`. Without a cache
    the judge remembers for as long as it lives.
    """
    kind = metric_kind(options.metric)
    data = read_config(options.config)
    table = data.pop("judge", {})
    given = {"evidence_policy": options.evidence_policy, "recheck": options.recheck}
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in kind.settings.model_fields:
            raise ConfigError(f"--{name.replace('_', '-')}: {options.metric} has no such setting")
    usual = {name: value for name, value in USUAL.items() if name in kind.settings.model_fields}
    try:
        config = kind.config.model_validate(
            {
                **data.pop("config", {}),
                **({"concurrency_limit": options.concurrency} if options.concurrency else {}),
                **({"model": options.model} if options.model else {}),
            }
        )
        settings = kind.settings.model_validate({**usual, **data, **chosen})
    except ValidationError as error:
        raise ConfigError(f"{options.config or 'options'}: {one_line(error, kind.settings)}") from None
    return build_metric(
        options.metric,
        judge=build_judge(
            options.judging.judge(table), ledger=ledger, cache=cache or MemoryCache(), metric=config, settings=settings
        ),
        config=config,
        settings=settings,
        max_concurrency=options.concurrency,
        keep_prompts=options.prompts,
    )


async def _score(partitions: Iterator[Partition | Rejected | Problem], metric: Metric, options: ScoreOptions) -> int:
    counts = Counts()
    worst: list[Row] = []
    gave_up: GiveUp | None = None
    with ExitStack() as stack:
        out = stack.enter_context(options.out.open("w", encoding="utf-8")) if options.out else None
        report = stack.enter_context(open_html(options.html, title="groundwire")) if options.html else None
        progress = None if options.as_json or not stderr.is_terminal else stack.enter_context(_progress())
        task = progress.add_task("scoring", total=None) if progress else None
        at_once = options.concurrency or AT_ONCE
        halt = stack.enter_context(_interruptible())
        try:
            async for item in score_partitions(partitions, metric, at_once=at_once, halt=halt):
                if isinstance(item, Problem):
                    counts.problems += 1
                    stderr.print(f"groundwire: {item!s}", markup=False, highlight=False, soft_wrap=True)
                    continue
                counts.add(item.row)
                _write(item, options, out)
                worst = _worst([*worst, item.row])
                if report is not None:
                    report.add(report_entry(item))
                if progress and task is not None:
                    progress.update(task, advance=1)
        except GiveUp as error:
            gave_up = error
    console = stderr if options.as_json else stdout
    if worst and not options.as_json:
        print_rows(worst, console=console)
    print_counts(counts, console=console)
    if gave_up is not None:
        raise gave_up
    if halt.asked:
        return INTERRUPTED
    if counts.read == 0 and counts.problems:
        return 2
    return 1 if counts.problems or counts.by_status.get("error") else 0


@contextmanager
def _interruptible() -> Iterator[Halt]:
    """Ctrl-C begins nothing more and finishes what may have been paid; a second one drops that too."""
    loop, halt = asyncio.get_running_loop(), Halt()

    def interrupted() -> None:
        if not halt.asked:
            stderr.print(f"groundwire: stopping after the {len(halt.under_way)} under way; Ctrl-C again drops them")
        halt()

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupted)
    except NotImplementedError:  # Windows: Ctrl-C then ends the run at once
        yield halt
        return
    try:
        yield halt
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _write(item: Outcome, options: ScoreOptions, out: IO[str] | None) -> None:
    if not options.as_json and out is None:
        return
    line = item.row.model_dump_json() + "\n"
    if options.as_json:
        sys.stdout.write(line)
        sys.stdout.flush()
    if out is not None:
        out.write(line)
        out.flush()


def _worst(rows: list[Row]) -> list[Row]:
    """The rows to show: the worst scores first, then what could not be scored."""

    def goodness(row: Row) -> float:
        return (row.score or 0.0) * (1 if row.direction == "higher_is_better" else -1)

    return sorted(rows, key=lambda row: (row.score is None, goodness(row)))[:SHOWN]


def report_entry(item: Outcome) -> ReportEntry:
    """What the HTML report shows of an outcome."""
    material = item.material
    return ReportEntry(
        row=item.row,
        question=material.question if material else "",
        answer=material.answer if material else "",
        blocks=material.view.shown if material else (),
    )


def _progress() -> Progress:
    return Progress(
        SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn(), console=stderr
    )
