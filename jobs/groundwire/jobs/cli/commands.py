"""Every command of `groundwire`, with its arguments; the work is done in modules imported when it runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["register"]

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of traces; - reads standard input.")]
Level = Annotated[str, typer.Option("--level", help="What is scored: span or trace.")]
Metric = Annotated[str, typer.Option("--metric", help="The metric; `groundwire manifest` lists them.")]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="A TOML or JSON file with the metric's [config] and settings.")
]
FileFormat = Annotated[
    str | None, typer.Option("--format", help="How the files are written; without it they are recognised by content.")
]
EachTurn = Annotated[
    bool, typer.Option("--each-turn", help="Score every assistant turn of a bare conversation as a span.")
]
Policy = Annotated[
    str | None,
    typer.Option("--evidence-policy", help="head: the specification's truncation; relevant: windows chosen per claim."),
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


def register(app: typer.Typer) -> None:
    """Hang the commands into the application, in the order that the help shows them."""
    app.callback()(root)
    commands: list[Any] = [demo, score, explain, manifest]
    for command in commands:
        app.command()(command)
