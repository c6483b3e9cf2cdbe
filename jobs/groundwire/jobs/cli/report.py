"""`groundwire report`: rates that can be quoted, in the terminal, as a page and as JSON."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from groundwire.jobs.cli.run import parse_time
from groundwire.jobs.cli.show import stdout
from groundwire.jobs.logs import configure_logs
from groundwire.jobs.report import (
    Group,
    Rate,
    RatesReport,
    Traces,
    make_rates,
    rate_words,
    rates_as_json,
    statuses_words,
    write_rates_html,
)
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import load_settings
from groundwire.scorer import MICRO, ConfigError

__all__ = ["ReportOptions", "run_report"]

DAYS_SHOWN = 14
VALUES_SHOWN = 8
"""Rows of a table in the terminal; the page and JSON have all."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """What `groundwire report` was asked."""

    since: str = "30d"
    until: str | None = None
    evaluator: str | None = None
    html: Path | None = None
    as_json: bool = False
    config: Path | None = None


def run_report(options: ReportOptions) -> int:
    """Make the report and print or write it. Raises `ConfigError`."""
    settings = load_settings(options.config)
    configure_logs(form=settings.log.format, level=settings.log.level)
    if options.evaluator is not None:
        settings.evaluator(options.evaluator)
    if options.html is not None and (options.html.is_dir() or not options.html.absolute().parent.is_dir()):
        raise ConfigError(f"{options.html}: name a file in a folder that is there")

    async def make() -> RatesReport:
        async with open_service(settings) as service:
            now = service.clock()
            since = parse_time(options.since, now=now)
            until = parse_time(options.until or "now", now=now)
            if since >= until:
                raise ConfigError(f"--since {options.since} is not before --until {options.until or 'now'}")
            return await make_rates(service.store, since=since, until=until, now=now, evaluator=options.evaluator)

    report = asyncio.run(make())
    if options.html is not None:
        write_rates_html(report, options.html)
    if options.as_json:
        stdout.file.write(rates_as_json(report) + "\n")
    else:
        _print(report)
        if options.html is not None:
            stdout.print(f"Wrote {options.html}.", markup=False, highlight=False)
    return 0


def _print(report: RatesReport) -> None:
    stdout.print(f"Traces that began from {report.since:%Y-%m-%d %H:%M} to {report.until:%Y-%m-%d %H:%M} UTC")
    if not report.groups:
        stdout.print("No rows there; `groundwire run` or `backfill` makes them, --since looks further back.")
    for group in report.groups:
        _print_group(report, group)
    if report.groups:
        _print_traces(report)
    _print_spent(report)
    for one in report.breaks:
        _line(f"break  {one.at:%Y-%m-%d %H:%M}  {one.evaluator} ({one.partition_type}): {one.what}")
    for cut in report.cuts:
        skipped = f", {cut.skipped:,} skipped" if cut.skipped else ""
        _line(
            f"not covered ({cut.why})  {cut.evaluator or 'all evaluators'}  "
            f"{cut.start:%Y-%m-%d %H:%M} to {cut.end:%Y-%m-%d %H:%M}{skipped}"
        )
    for name, reasons in report.not_judged.items():
        _line(f"{name}: " + ", ".join(f"{n:,} traces {reason.replace('_', ' ')}" for reason, n in reasons.items()))


def _line(text: str) -> None:
    stdout.print(text, markup=False, highlight=False, soft_wrap=True)


def _print_group(report: RatesReport, group: Group) -> None:
    stdout.rule(
        Text(f"{group.evaluator} · {group.metric} {group.metric_version} · {group.partition_type}"), align="left"
    )
    _line(f"{group.judge_name}, fingerprint {group.config_fingerprint}; {group.calibration}")
    overall = group.overall
    found = overall.hallucinated
    of = f" of {found.n:,} rows with a verdict" if found else ""
    score = "" if overall.score is None else f", mean score {overall.score:.3f}"
    _line(f"hallucinated {rate_words(found)}{of}{score}; no score: {statuses_words(overall.statuses)}")
    drift = group.drift
    _line(f"this week {rate_words(drift.now)}, last week {rate_words(drift.before)}: {drift.words}{drift.p_words}")
    cut = report.days_cut(group.evaluator)
    days = group.days[-DAYS_SHOWN:]
    _table("day", [(rate, "cut" if _day(rate) in cut else "") for rate in days])
    for dimension, rates in group.by.items():
        if len(rates) == 1 and rates[0].rows == overall.rows:
            _line(f"{dimension}: {rates[0].value}, all rows")
            continue
        _table(dimension, [(rate, "") for rate in rates[:VALUES_SHOWN]])
        if len(rates) > VALUES_SHOWN:
            _line(f"and {len(rates) - VALUES_SHOWN} more: --html or --json")


def _day(rate: Rate) -> object:
    from datetime import date

    return date.fromisoformat(rate.value)


def _table(name: str, rates: Sequence[tuple[Rate, str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(name)
    for column in ("rows", "hallucinated", "score"):
        table.add_column(column, justify="right")
    table.add_column("no score")
    table.add_column("")
    for rate, note in rates:
        table.add_row(
            Text(rate.value),
            f"{rate.rows:,}",
            rate_words(rate.hallucinated),
            "–" if rate.score is None else f"{rate.score:.3f}",
            statuses_words(rate.statuses),
            note,
        )
    stdout.print(table)


def _print_traces(report: RatesReport) -> None:
    stdout.rule("the application's traces", align="left")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("day")
    for column in ("traces", "cost a task", "p50", "p95", "tokens a task"):
        table.add_column(column, justify="right")
    for one in (*report.trace_days[-DAYS_SHOWN:], report.traces):
        table.add_row(one.value, f"{one.n:,}", *_trace_cells(one))
    stdout.print(table)


def _trace_cells(one: Traces) -> tuple[str, str, str, str]:
    tokens = " + ".join(f"{count:,.0f} {name}" for name, count in one.tokens.items() if count >= 0.5)
    return (
        "–" if one.cost is None else f"${one.cost:.5f}",
        "–" if one.p50 is None else f"{one.p50:.2f} s",
        "–" if one.p95 is None else f"{one.p95:.2f} s",
        tokens or "–",
    )


def _print_spent(report: RatesReport) -> None:
    if not report.spent:
        return
    stdout.rule("spent on judging", align="left")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("whose", "per"):
        table.add_column(column)
    for column in ("windows", "spent", "cap a window", "full"):
        table.add_column(column, justify="right")
    for one in report.spent:
        table.add_row(
            Text(one.whose),
            one.per,
            f"{one.windows:,}",
            f"${one.micro_dollars / MICRO:.6f}",
            "–" if one.cap is None else f"${one.cap / MICRO:.2f}",
            f"{one.at_cap:,}" if one.cap is not None else "–",
        )
    stdout.print(table)
