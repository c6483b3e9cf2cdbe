"""The commands that look into the state and tidy it: rows, spend, runs, gaps, retry, retract, prune."""

import asyncio
import csv
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from rich.markup import escape
from rich.table import Table

from groundwire.jobs.cli.run import parse_time
from groundwire.jobs.cli.show import STATUSES, print_rows, stdout
from groundwire.jobs.logs import configure_logs
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import load_settings
from groundwire.jobs.store import counts, cursors, gaps, outbox, retention, rows, runs, spend, work
from groundwire.scorer import MICRO, ConfigError, Row, Status, headline

__all__ = [
    "RowsOptions",
    "print_gaps",
    "print_runs",
    "print_spend",
    "run_prune",
    "run_retract",
    "run_retry",
    "run_rows",
]

T = TypeVar("T")


def _with_service(config: Path | None, do: Callable[[Service], Awaitable[T]]) -> T:
    settings = load_settings(config)
    configure_logs(form=settings.log.format, level=settings.log.level)

    async def run() -> T:
        async with open_service(settings) as service:
            return await do(service)

    return asyncio.run(run())


@dataclass(frozen=True, kw_only=True)
class RowsOptions:
    """What `groundwire rows` was asked."""

    evaluator: str | None = None
    status: str | None = None
    reason: str | None = None
    label: str | None = None
    score_min: float | None = None
    score_max: float | None = None
    since: str | None = None
    until: str | None = None
    trace: str | None = None
    run: str | None = None
    history: bool = False
    limit: int = 100
    form: str = "table"


def run_rows(config: Path | None, options: RowsOptions) -> None:
    """Print the rows that match, the newest first, as a table, JSON lines or CSV."""
    if options.status is not None and options.status not in STATUSES:
        raise ConfigError(f"--status is one of {', '.join(STATUSES)}, not {options.status!r}")
    if options.form not in ("table", "jsonl", "csv"):
        raise ConfigError(f"--format is table, jsonl or csv, not {options.form!r}")

    async def do(service: Service) -> None:
        now = service.clock()
        query = rows.RowQuery(
            evaluator=options.evaluator,
            status=_status(options.status),
            reason=options.reason,
            label=options.label,
            score_min=options.score_min,
            score_max=options.score_max,
            since=parse_time(options.since, now=now) if options.since else None,
            until=parse_time(options.until, now=now) if options.until else None,
            trace_id=options.trace,
            run_id=options.run,
            history=options.history,
        )
        shown: list[Row] = []
        writer = csv.writer(sys.stdout) if options.form == "csv" else None
        if writer:
            writer.writerow(["row_id", "evaluator", "trace_id", "partition_id", "status", "reason", "score", "label",
                             "created_at", "micro_dollars", "headline"])  # fmt: skip
        left = options.limit
        async for page in rows.pages(service.store, query, newest_first=True):
            for stored in page[:left]:
                row = stored.row
                if options.form == "jsonl":
                    sys.stdout.write(row.model_dump_json() + "\n")
                elif writer:
                    writer.writerow([row.row_id, stored.evaluator, row.trace_id, row.partition_id, row.status,
                                     row.reason, row.score, row.label, row.created_at.isoformat(),
                                     row.usage.micro_dollars, headline(row)])  # fmt: skip
                else:
                    shown.append(row)
            left -= len(page)
            if left <= 0:
                break
        if options.form == "table":
            print_rows(shown, console=stdout)
            tally = await service.store.read(rows.tally, query)
            for (evaluator, status, reason), n in sorted(tally.items(), key=str):
                why = f": {reason}" if reason else ""
                stdout.print(f"{evaluator}  {status}{why}  {n:,}", highlight=False, markup=False)

    _with_service(config, do)


def _status(text: str | None) -> Status | None:
    match text:
        case "scored" | "unknown" | "invalid" | "skipped" | "error":
            return text
        case _:
            return None


def print_spend(config: Path | None, evaluator: str | None, *, since: str) -> None:
    """By evaluator and window: spent, held, cap, and what was skipped for it."""

    async def do(service: Service) -> None:
        now = service.clock()
        start = parse_time(since, now=now)
        await service.ledger.expire()
        windows = await service.store.read(spend.list_windows, evaluator=evaluator, since=start)
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("whose", "window", "from"):
            table.add_column(name)
        for name in ("spent", "held", "cap", "left"):
            table.add_column(name, justify="right")
        for state in windows:
            window = state.window
            if window.per == "trace":
                continue  # one line a trace is nobody's overview
            cap = window.cap
            table.add_row(
                escape(f"{window.name or 'all'} ({window.scope})" if window.scope != "evaluator" else window.name),
                window.per if window.per != "run" else f"run {escape(window.key)}",
                f"{window.starts_at:%Y-%m-%d %H:%M}",
                f"${state.spent / MICRO:.6f}",
                f"${state.reserved / MICRO:.6f}",
                "–" if cap is None else f"${cap / MICRO:.2f}",
                "–" if cap is None else f"${max(cap - state.spent - state.reserved, 0) / MICRO:.6f}",
            )
        if table.row_count:
            stdout.print(table)
        else:
            stdout.print(f"Nothing was spent since {start:%Y-%m-%d %H:%M} UTC.", highlight=False)
        query = rows.RowQuery(evaluator=evaluator, status="skipped", reason="over_budget", since=start)
        for (name, _, _), n in sorted((await service.store.read(rows.tally, query)).items(), key=str):
            stdout.print(
                f"{name}: {n:,} partitions skipped at the cap; `groundwire backfill {name!r} --skipped` takes them up",
                markup=False,
                highlight=False,
            )

    _with_service(config, do)


def print_runs(config: Path | None, evaluator: str | None, *, limit: int) -> None:
    """The runs, the newest first."""

    async def do(service: Service) -> None:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("run", no_wrap=True)
        for name in ("command", "evaluator", "started", "took", "outcome", "rows", "cost"):
            table.add_column(name)
        for run in await service.store.read(runs.list_runs, evaluator=evaluator, limit=limit):
            took = "–" if run.ended_at is None else str(run.ended_at - run.started_at).split(".")[0]
            table.add_row(
                run.run_id,
                run.command,
                escape(run.evaluator or ", ".join(map(str, _names(run.args.get("evaluators"))))),
                f"{run.started_at:%Y-%m-%d %H:%M:%S}",
                took,
                run.outcome + (f": {escape(run.message)}" if run.message else ""),
                ", ".join(f"{n} {status}" for status, n in sorted(run.counts.items())) or "–",
                f"${run.micro_dollars / MICRO:.6f}",
            )
        stdout.print(table)

    _with_service(config, do)


def _names(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def print_gaps(config: Path | None, evaluator: str | None, *, closed: bool) -> None:
    """The stretches of time that were not covered, and why; then how far each source was read."""

    async def do(service: Service) -> None:
        found = await service.store.read(gaps.list_gaps, evaluator=evaluator, closed=closed)
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("source", "evaluator", "from", "to", "why", "skipped", "state"):
            table.add_column(name)
        for gap in found:
            table.add_row(
                escape(gap.source),
                escape(gap.evaluator or "all"),
                f"{gap.starts_at:%Y-%m-%d %H:%M:%S}",
                f"{gap.ends_at:%Y-%m-%d %H:%M:%S}",
                gap.why,
                f"{gap.n:,}" if gap.n else "–",
                "open" if gap.closed_at is None else "taken up",
            )
        stdout.print(table if found else "No gaps.")
        now = service.clock()
        for place in await service.store.read(cursors.places):
            if place.reached is not None and place.source in service.settings.sources:
                behind = max(now - place.reached, timedelta(0))
                stdout.print(
                    f"{place.source}: read up to {place.reached:%Y-%m-%d %H:%M:%S} UTC "
                    f"({str(behind).split('.')[0]} behind now)",
                    markup=False,
                    highlight=False,
                )
        for (name, reason), n in sorted((await service.store.read(counts.totals)).items()):
            if evaluator in (None, name):
                stdout.print(f"{name}: {n:,} traces {reason.replace('_', ' ')}", markup=False, highlight=False)

    _with_service(config, do)


def run_retry(config: Path | None, evaluator: str | None) -> None:
    """Make dead letters and errors due again."""

    async def do(service: Service) -> None:
        now = service.clock()
        letters = await service.store.write(outbox.revive, now=now, evaluator=evaluator)
        names = [evaluator] if evaluator else [spec.name for spec in service.settings.evaluators]
        errors = 0
        for name in names:
            service.settings.evaluator(name)
            errors += await service.store.write(work.reopen, evaluator=name, state="error", now=now)
        stdout.print(f"{letters} dead letters and {errors} errors are due again; `groundwire run` takes them up.")

    _with_service(config, do)


def run_retract(config: Path | None, evaluator: str, run_id: str, *, yes: bool) -> int:
    """Take off the platform what a run wrote."""

    async def do(service: Service) -> int:
        spec = service.settings.evaluator(evaluator)
        wrote = await service.store.read(outbox.entries, evaluator=evaluator, run_id=run_id)
        puts = [entry for entry in wrote if entry.action == "put"]
        if not puts:
            raise ConfigError(f"{evaluator} wrote nothing in run {run_id!r}; `groundwire runs` lists the runs")
        if not yes:
            import typer

            if not typer.confirm(f"Delete {len(puts)} scores of {evaluator} from {spec.source}?"):
                stdout.print("Nothing was done.")
                return 0
        queued, dropped = await service.store.write(
            outbox.retract, evaluator=evaluator, run_id=run_id, now=service.clock()
        )
        done = await service.mail(spec.source).deliver()
        stdout.print(
            f"{done.delivered} of {queued} scores deleted from {spec.source}, {dropped} had never left; "
            f"{done.later} are retried by `groundwire run`.",
            markup=False,
            highlight=False,
        )
        return 1 if done.refused else 0

    return _with_service(config, do)


def run_prune(config: Path | None, *, trace: str | None, user: str | None) -> None:
    """Forget text: what is older than `state.keep`, or one trace's or one user's at once."""

    async def do(service: Service) -> None:
        if trace is not None:
            n = await retention.prune_trace(service.store, trace)
        elif user is not None:
            n = await retention.prune_user(service.store, user)
        else:
            moment = service.clock() - timedelta(seconds=service.settings.state.keep)
            n = await retention.prune_before(service.store, moment)
        stdout.print(f"{n} rows lost their text; labels, numbers and offsets stay.", highlight=False)

    _with_service(config, do)
