"""The commands that run the line: `run`, `try`, `backfill`, `plan`."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import JsonValue
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from groundwire.jobs import flow
from groundwire.jobs.backfill import Backfill, Span, run_backfill
from groundwire.jobs.cli.show import print_counts, print_rows, stderr, stdout
from groundwire.jobs.intake import Intake
from groundwire.jobs.logs import configure_logs
from groundwire.jobs.plan import Plan, make_plan
from groundwire.jobs.schedule import Beside, Runner
from groundwire.jobs.scoring import Counts
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import Settings, load_settings
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import gaps, runs
from groundwire.jobs.trial import try_evaluator
from groundwire.scorer import MICRO, ConfigError, micro_dollars, write_comment

__all__ = ["BackfillOptions", "backfill_of", "parse_time", "run_backfill_command", "run_line", "run_plan", "run_try"]


def _settings(config: Path | None) -> Settings:
    settings = load_settings(config)
    configure_logs(form=settings.log.format, level=settings.log.level)
    return settings


def parse_time(text: str, *, now: datetime) -> datetime:
    """A moment in UTC: an ISO date or time, or `7d`, `12h`, `30m` ago. Raises `ConfigError`."""
    units = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    if text[:-1].isdigit() and text[-1:] in units:
        return now - timedelta(**{units[text[-1]]: int(text[:-1])})
    if text == "now":
        return now
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"{text!r} is no time; write 2026-11-30, 2026-11-30T12:00Z or 7d (ago)") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def run_line(config: Path | None, *, once: bool, only: Sequence[str]) -> int:
    """`groundwire run`: poll, judge and deliver, once or until stopped. The exit code: 1 where something failed."""
    settings = _settings(config)
    specs = [settings.evaluator(name) for name in only] or list(settings.evaluators)
    if not specs:
        raise ConfigError("no [[evaluators]] are configured; `groundwire init` writes an example")
    return asyncio.run(_run(settings, specs, once=once))


async def _run(settings: Settings, specs: Sequence[EvaluatorSpec], *, once: bool) -> int:
    async with open_service(settings) as service:
        chosen = [await service.evaluator(spec) for spec in specs]
        run_id = f"run-{uuid.uuid4().hex[:12]}"
        # the platform itself keeps the scores of decisions: one that was polled as well would be scored twice
        runner = Runner(service, [one for one in chosen if one.spec.attach != "decision"], run_id=run_id)
        intake = Intake(service, [one for one in chosen if one.spec.attach == "webhook"], run_id=run_id)
        beside: Sequence[Beside] = ()
        if not once and any(spec.attach for spec in specs):
            from groundwire.jobs.cli.serve import beside_polling

            beside = await beside_polling(service, chosen, intake)
        names: list[JsonValue] = [spec.name for spec in specs]
        args: dict[str, JsonValue] = {"evaluators": names, "once": once}
        await service.store.write(runs.start, run_id, command="run", args=args, now=service.clock())
        try:
            if once:
                await intake.once()
                await runner.once()
            else:
                await runner.forever(beside=beside)
        except BaseException:
            await service.store.write(runs.end, run_id, outcome="failed", now=service.clock())
            raise
        runner.total += intake.total
        total = runner.total
        stopped = runner.stopped | runner.stopped_evaluators | intake.stopped
        await service.store.write(runs.note, run_id, counts=total.by_status, micro_dollars=total.micro_dollars)
        await service.store.write(runs.end, run_id, outcome="failed" if stopped else "done", now=service.clock())
        if once:
            _print_turn(runner, specs, stopped)
        return 1 if stopped or runner.failed or total.by_status.get("error") or runner.delivered.refused else 0


def _print_turn(runner: Runner, specs: Sequence[EvaluatorSpec], stopped: Mapping[str, str]) -> None:
    total, delivered = runner.total, runner.delivered
    rows = " + ".join(f"{n} {status}" for status, n in sorted(total.by_status.items())) or "no new rows"
    stdout.print(
        f"{total.seen} traces seen, {total.enqueued} partitions taken up: {rows}; {total.postponed} wait, "
        f"{total.nothing_new} unchanged; {delivered.delivered} scores delivered, {delivered.later} to be retried, "
        f"{delivered.refused} refused; ${total.micro_dollars / MICRO:.6f}",
        highlight=False,
        soft_wrap=True,
    )
    for spec in specs:
        let_by = total.filtered.get(spec.name, 0)
        if total.seen and let_by >= total.seen:
            names = ", ".join(sorted({name or "(no name)" for name in total.examples.get(spec.name, [])}))
            stdout.print(
                f"{spec.name}: 0 of {total.seen} traces matched its filter; names seen: {names}",
                markup=False,
                soft_wrap=True,
            )
    for source, why in stopped.items():
        stderr.print(f"groundwire: {source} stopped: {why}", markup=False, soft_wrap=True)
    for source, why in runner.failed.items():
        stderr.print(f"groundwire: {source}: {why}", markup=False, soft_wrap=True)


def run_try(config: Path | None, name: str, *, n: int) -> int:
    """`groundwire try`: judge a few of the newest matching traces and write nothing anywhere."""
    settings = _settings(config)
    return asyncio.run(_try(settings, settings.evaluator(name), n))


async def _try(settings: Settings, spec: EvaluatorSpec, n: int) -> int:
    async with open_service(settings) as service:
        trial = await try_evaluator(service, spec, n=n)
    counts = Counts()
    for row in trial.rows:
        counts.add(row)
    for row in trial.rows:
        stdout.rule(f"{row.partition_type} {row.partition_id}", align="left")
        stdout.print(write_comment(row), markup=False, highlight=False)
    stdout.print()
    print_rows(trial.rows, console=stdout)
    print_counts(counts, console=stdout)
    if not trial.rows:
        names = ", ".join(sorted(set(trial.names))) or "none"
        stdout.print(f"0 of {trial.seen} traces matched {spec.name}'s filter; names seen: {names}", markup=False)
    stdout.print("Nothing was written.", style="dim")
    return 1 if counts.by_status.get("error") else 0


@dataclass(frozen=True, kw_only=True)
class BackfillOptions:
    """What `groundwire backfill` and `groundwire plan` were asked."""

    evaluator: str
    start: str | None = None
    end: str | None = None
    limit: int | None = None
    sample: float | None = None
    max_usd: float | None = None
    newest_first: bool = False
    rescore: bool = False
    skipped: bool = False
    yes: bool = False


async def backfill_of(service: Service, spec: EvaluatorSpec, options: BackfillOptions) -> Backfill:
    """The backfill that is asked for; raises `ConfigError` where the options don't name a stretch of time."""
    now = service.clock()
    gap_ids: tuple[str, ...] = ()
    if options.skipped:
        open_gaps = await service.store.read(gaps.list_gaps, source=spec.source, evaluator=spec.name)
        if not open_gaps:
            raise ConfigError(f"{spec.name} has no gaps; `groundwire gaps` shows them")
        spans = tuple(
            Span(start=gap.starts_at, end=max(gap.ends_at, gap.starts_at + timedelta(seconds=1)) + timedelta(hours=1))
            for gap in open_gaps
        )
        gap_ids = tuple(gap.gap_id for gap in open_gaps)
    else:
        if options.start is None:
            raise ConfigError("say from when: --from 2026-11-01 (or --from 7d, or --skipped)")
        start, end = parse_time(options.start, now=now), parse_time(options.end or "now", now=now)
        if start >= end:
            raise ConfigError(f"--from {options.start} is not before --to {options.end or 'now'}")
        spans = (Span(start=start, end=end),)
    return Backfill(
        evaluator=spec,
        spans=spans,
        limit=options.limit,
        sample=options.sample,
        newest_first=options.newest_first,
        rescore=options.rescore,
        gap_ids=gap_ids,
    )


def run_plan(config: Path | None, options: BackfillOptions) -> int:
    """`groundwire plan`: what a backfill would come to, without one judge call."""
    settings = _settings(config)

    async def plan() -> Plan:
        async with open_service(settings) as service:
            spec = settings.evaluator(options.evaluator)
            return await make_plan(service, await backfill_of(service, spec, options))

    _print_plan(asyncio.run(plan()))
    return 0


def _print_plan(plan: Plan) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row("traces looked at", f"{plan.traces:,}")
    table.add_row("matching, sampled in", f"{plan.partitions:,} partitions")
    table.add_row("judged before, unchanged", f"{plan.already:,}")
    for rule, n in sorted(plan.invalid.items()):
        share = n / plan.partitions if plan.partitions else 0.0
        table.add_row(f"invalid: {rule}", f"{n:,} ({share:.0%}) — {plan.remedies[rule]}")
    table.add_row("to be judged", f"{plan.to_judge:,}")
    outlook = plan.outlook
    expected, worst = plan.scaled(outlook.expected_micro_dollars), plan.scaled(outlook.worst_micro_dollars)
    tokens_in, tokens_out = plan.scaled(outlook.expected_input_tokens), plan.scaled(outlook.expected_output_tokens)
    table.add_row("judge calls", f"about {plan.scaled(outlook.calls):,}")
    table.add_row("tokens", f"about {tokens_in:,} in, {tokens_out:,} out")
    if not outlook.priced:
        cost = "unknown: the judge's price isn't known; set price in its [judges] table"
    elif worst == 0:
        cost = "free"
    else:
        cost = f"about ${expected / MICRO:.4f}, at most ${worst / MICRO:.4f}"
    table.add_row("cost", cost)
    stdout.print(table)


def run_backfill_command(config: Path | None, options: BackfillOptions) -> int:
    """`groundwire backfill`: show the plan, ask, then score history; the same again goes on where it stopped."""
    settings = _settings(config)
    return asyncio.run(_backfill(settings, options))


async def _backfill(settings: Settings, options: BackfillOptions) -> int:
    spec = settings.evaluator(options.evaluator)
    budget = None if options.max_usd is None else micro_dollars(options.max_usd)
    async with open_service(settings, budget=budget) as service:
        backfill = await backfill_of(service, spec, options)
        if not options.yes:
            _print_plan(await make_plan(service, backfill))
            import typer

            if not typer.confirm("Go on?"):
                stdout.print("Nothing was done.")
                return 0
        evaluator = await service.evaluator(spec, live=False)
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[what]}"),
            TimeRemainingColumn(),
            console=stderr,
            disable=not stderr.is_terminal,
        )
        with bar:
            task = bar.add_task(backfill.run_id, total=None, what="")

            def told(progress: flow.Progress, done: int, of: int) -> None:
                rows = ", ".join(f"{n} {status}" for status, n in sorted(progress.by_status.items()))
                bar.update(task, completed=done, total=of, what=f"{rows} ${progress.micro_dollars / MICRO:.4f}")

            total, delivered, finished = await run_backfill(service, backfill, evaluator, told=told)
    rows = " + ".join(f"{n} {status}" for status, n in sorted(total.by_status.items())) or "no new rows"
    stdout.print(
        f"{backfill.run_id}: {total.seen} traces seen, {rows}, {total.nothing_new} unchanged; "
        f"{delivered.delivered} scores delivered, {delivered.refused} refused; ${total.micro_dollars / MICRO:.6f}",
        highlight=False,
        soft_wrap=True,
    )
    if not finished:
        stdout.print("The budget is spent; the same command with a larger --max-usd goes on from here.")
    return 1 if total.by_status.get("error") or delivered.refused else 0
