"""Every command of `groundwire`, with its arguments; the work is done in modules imported when it runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from groundwire.jobs.cli import measures, sets

__all__ = ["register"]

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of traces; - reads standard input.")]
Level = Annotated[str, typer.Option("--level", help="What is scored: span, trace or session.")]
Metric = Annotated[str, typer.Option("--metric", help="The metric; `groundwire manifest` lists them.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="A TOML or JSON file with the metric's [config], a [judge] and settings."),
]
FileFormat = Annotated[
    str | None, typer.Option("--format", help="How the files are written; without it they are recognised by content.")
]
EachTurn = Annotated[
    bool, typer.Option("--each-turn", help="Score every assistant turn of a bare conversation as a span.")
]
Policy = Annotated[
    str | None,
    typer.Option("--evidence-policy", help="head: the beginning of each block; relevant: windows chosen per claim."),
]
Recheck = Annotated[
    bool | None,
    typer.Option("--recheck/--no-recheck", help="Ask again about claims found wanting while evidence was cut."),
]


def version(show: bool) -> None:
    """Print the version and stop."""
    if show:
        from groundwire.scorer import package_version

        typer.echo(f"groundwire {package_version()}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Is what the LLM application said supported by the evidence it had?"""
    del version  # the eager callback has done its work


def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder for rows.jsonl and report.html.")] = Path("demo-out"),
) -> None:
    """Score the bundled traces with the offline judge: no key, no network."""
    from groundwire.jobs.cli.demo import run_demo

    raise typer.Exit(run_demo(out))


def score(
    paths: Files,
    level: Level = "trace",
    metric: Metric = "agent.hallucination",
    config: ConfigFile = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the rows to this file, one JSON object a line.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one row a line on standard output and nothing else there.")
    ] = False,
    file_format: FileFormat = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a self-contained HTML report.")] = None,
    each_turn: EachTurn = False,
    evidence_policy: Policy = None,
    recheck: Recheck = None,
    judge: Annotated[str, typer.Option("--judge", help="offline, llm or decision.")] = "offline",
    model: Annotated[str | None, typer.Option("--model", help="The judge's model.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="An OpenAI-compatible endpoint.")] = None,
    max_usd: Annotated[float | None, typer.Option("--max-usd", min=0, help="Never spend more than this.")] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, help="Partitions and judge calls under way at once.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the calls and what they would cost, and make none.")
    ] = False,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Keep every prompt in its row, for `groundwire explain`.")
    ] = False,
) -> None:
    """Score the traces in files, claim by claim."""
    from groundwire.jobs.cli.score import ScoreOptions, run_score

    options = ScoreOptions(
        paths=tuple(paths),
        level=level,
        metric=metric,
        config=config,
        out=out,
        as_json=as_json,
        file_format=file_format,
        html=html,
        each_turn=each_turn,
        evidence_policy=evidence_policy,
        recheck=recheck,
        judge=judge,
        model=model,
        base_url=base_url,
        max_usd=max_usd,
        concurrency=concurrency,
        dry_run=dry_run,
        prompts=prompts,
    )
    raise typer.Exit(run_score(options))


def manifest(
    name: Annotated[str | None, typer.Argument(help="A metric; without it all are listed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of YAML.")] = False,
) -> None:
    """Print a metric's manifest, or the metrics there are."""
    from groundwire.jobs.cli.show import print_manifest

    print_manifest(name, as_json=as_json)


def explain(
    row_or_trace: Annotated[str, typer.Argument(metavar="ROW_ID|TRACE_ID", help="The row, or all rows of a trace.")],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE...]", help="The files that were scored, to show the evidence.")
    ] = None,
    rows: Annotated[Path, typer.Option("--rows", help="The rows that `groundwire score --out` wrote.")] = Path(
        "rows.jsonl"
    ),
    config: ConfigFile = None,
    file_format: FileFormat = None,
    each_turn: EachTurn = False,
) -> None:
    """Show why a row is what it is: the evidence, what was cut, each claim, the checks, the judge's replies."""
    from groundwire.jobs.cli.explain import run_explain

    run_explain(row_or_trace, files or [], rows=rows, config=config, file_format=file_format, each_turn=each_turn)


Config = Annotated[Path | None, typer.Option("--config", "-c", help="The configuration; groundwire.toml by default.")]
Name = Annotated[str, typer.Argument(metavar="EVALUATOR", help="An evaluator of the configuration.")]
AnyName = Annotated[str | None, typer.Option("--evaluator", help="Only this evaluator.")]
From = Annotated[str | None, typer.Option("--from", help="From when: 2026-11-01, a full ISO time, or 7d (ago).")]
To = Annotated[str | None, typer.Option("--to", help="Until when, exclusive; now by default.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="At most this many partitions.")]
Sample = Annotated[float | None, typer.Option("--sample", min=0, max=1, help="A rate in place of the evaluator's.")]
NewestFirst = Annotated[bool, typer.Option("--newest-first", help="Begin with the newest.")]
Rescore = Annotated[bool, typer.Option("--rescore", help="Judge again what was judged under another configuration.")]
Skipped = Annotated[bool, typer.Option("--skipped", help="Take up what was skipped or missed: the evaluator's gaps.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]


def init(
    platform: Annotated[str, typer.Argument(help="langfuse, langsmith, phoenix or files.")] = "files",
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("groundwire.toml"),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    write_status: Annotated[
        bool | None, typer.Option("--write-status/--no-write-status", help="Also write why something has no score.")
    ] = None,
) -> None:
    """Write a commented configuration for a platform."""
    from groundwire.jobs.cli.setup import run_init

    run_init(platform, out, force=force, write_status=write_status)


def doctor(config: Config = None) -> None:
    """Check configuration, state, prices, judges, sources and sinks; say what to do."""
    from groundwire.jobs.cli.setup import run_doctor

    raise typer.Exit(run_doctor(config))


def try_(
    name: Name, n: Annotated[int, typer.Option("--n", min=1, help="How many.")] = 5, config: Config = None
) -> None:
    """Judge a few of the newest matching traces; write nothing."""
    from groundwire.jobs.cli.run import run_try

    raise typer.Exit(run_try(config, name, n=n))


def run(
    once: Annotated[bool, typer.Option("--once", help="Poll once, judge what is due, deliver, and stop.")] = False,
    evaluator: Annotated[list[str] | None, typer.Option("--evaluator", help="Only these evaluators.")] = None,
    config: Config = None,
) -> None:
    """Poll the sources, judge what is new, write the scores."""
    from groundwire.jobs.cli.run import run_line

    raise typer.Exit(run_line(config, once=once, only=evaluator or []))


def serve(config: Config = None) -> None:
    """Answer webhooks, decisions and scores over HTTP, and judge what webhooks deliver."""
    from groundwire.jobs.cli.serve import run_serve

    raise typer.Exit(run_serve(config))


def attach(
    platform: Annotated[str, typer.Argument(help="langsmith.")],
    name: Name,
    url: Annotated[
        str | None, typer.Option("--url", help="The service's address as the platform reaches it: https://….")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--as", help="webhook or decision; the evaluator's own attach by default.")
    ] = None,
    body: Annotated[bool, typer.Option("--body", help="Print the request's body alone.")] = False,
    config: Config = None,
) -> None:
    """Print the rule to create on a platform so that it calls an evaluator."""
    from groundwire.jobs.cli.attach import run_attach

    run_attach(platform, name, url=url, kind=kind, body_only=body, config=config)


def plan(
    name: Name,
    start: From = None,
    end: To = None,
    limit: Limit = None,
    sample: Sample = None,
    newest_first: NewestFirst = False,
    rescore: Rescore = False,
    skipped: Skipped = False,
    config: Config = None,
) -> None:
    """What a backfill would come to, without one judge call."""
    from groundwire.jobs.cli.run import BackfillOptions, run_plan

    options = BackfillOptions(
        evaluator=name,
        start=start,
        end=end,
        limit=limit,
        sample=sample,
        newest_first=newest_first,
        rescore=rescore,
        skipped=skipped,
    )
    raise typer.Exit(run_plan(config, options))


def backfill(
    name: Name,
    start: From = None,
    end: To = None,
    limit: Limit = None,
    sample: Sample = None,
    max_usd: Annotated[float | None, typer.Option("--max-usd", min=0, help="Its own budget.")] = None,
    newest_first: NewestFirst = False,
    rescore: Rescore = False,
    skipped: Skipped = False,
    yes: Yes = False,
    config: Config = None,
) -> None:
    """Score history; the same command again goes on where it stopped."""
    from groundwire.jobs.cli.run import BackfillOptions, run_backfill_command

    options = BackfillOptions(
        evaluator=name,
        start=start,
        end=end,
        limit=limit,
        sample=sample,
        max_usd=max_usd,
        newest_first=newest_first,
        rescore=rescore,
        skipped=skipped,
        yes=yes,
    )
    raise typer.Exit(run_backfill_command(config, options))


def rows(
    evaluator: AnyName = None,
    status: Annotated[str | None, typer.Option("--status", help="scored, unknown, invalid, skipped or error.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why there is no score.")] = None,
    label: Annotated[str | None, typer.Option("--label", help="hallucinated or grounded.")] = None,
    score_min: Annotated[float | None, typer.Option("--min", min=0, max=1, help="Least score.")] = None,
    score_max: Annotated[float | None, typer.Option("--max", min=0, max=1, help="Greatest score.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="Judged since: a time, or 7d (ago).")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Judged before.")] = None,
    trace: Annotated[str | None, typer.Option("--trace", help="Only this trace.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="Only this run.")] = None,
    history: Annotated[bool, typer.Option("--history", help="Superseded rows as well.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most this many.")] = 100,
    form: Annotated[str, typer.Option("--format", help="table, jsonl or csv.")] = "table",
    config: Config = None,
) -> None:
    """The rows in the state, the newest first."""
    from groundwire.jobs.cli.state import RowsOptions, run_rows

    options = RowsOptions(
        evaluator=evaluator,
        status=status,
        reason=reason,
        label=label,
        score_min=score_min,
        score_max=score_max,
        since=since,
        until=until,
        trace=trace,
        run=run_id,
        history=history,
        limit=limit,
        form=form,
    )
    run_rows(config, options)


def runs(
    evaluator: AnyName = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most this many.")] = 20,
    config: Config = None,
) -> None:
    """The runs, the newest first."""
    from groundwire.jobs.cli.state import print_runs

    print_runs(config, evaluator, limit=limit)


def spend(
    evaluator: AnyName = None,
    since: Annotated[str, typer.Option("--since", help="Windows that began since: a time, or 7d (ago).")] = "7d",
    config: Config = None,
) -> None:
    """What was spent and is held, by evaluator and window, and what was skipped for it."""
    from groundwire.jobs.cli.state import print_spend

    print_spend(config, evaluator, since=since)


def gaps(
    evaluator: AnyName = None,
    closed: Annotated[bool, typer.Option("--all", help="Those that a backfill took up as well.")] = False,
    config: Config = None,
) -> None:
    """Stretches of time that were not covered, and why."""
    from groundwire.jobs.cli.state import print_gaps

    print_gaps(config, evaluator, closed=closed)


def retry(evaluator: AnyName = None, config: Config = None) -> None:
    """Make dead letters and errors due again."""
    from groundwire.jobs.cli.state import run_retry

    run_retry(config, evaluator)


def retract(
    name: Name,
    run_id: Annotated[str, typer.Option("--run", help="The run; `groundwire runs` lists them.")],
    yes: Yes = False,
    config: Config = None,
) -> None:
    """Delete from the platform what a run wrote."""
    from groundwire.jobs.cli.state import run_retract

    raise typer.Exit(run_retract(config, name, run_id, yes=yes))


def prune(
    trace: Annotated[str | None, typer.Option("--trace", help="This trace's text, at once.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="This user's text, at once.")] = None,
    config: Config = None,
) -> None:
    """Forget text that is older than state.keep, or one trace's or one user's at once."""
    from groundwire.jobs.cli.state import run_prune

    run_prune(config, trace=trace, user=user)


def register(app: typer.Typer) -> None:
    """Hang the commands into the application, in the order that the help shows them."""
    app.callback()(root)
    commands: list[Any] = [
        demo, score, explain, manifest, init, doctor, run, serve, attach, plan, backfill,
        rows, runs, spend, gaps, retry, retract, prune,
    ]  # fmt: skip
    for command in commands:
        app.command()(command)
    app.command("try")(try_)
    sets.register(app)
    measures.register(app)
