"""The commands that make measurements of scores, with their arguments: `label`, `calibrate`, `report`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]

Files = Annotated[list[str] | None, typer.Argument(metavar="[FILE...]", help="Files of the traces.")]
Rows = Annotated[Path | None, typer.Option("--rows", help="The rows that `groundwire score --out` wrote.")]
Evaluator = Annotated[
    str | None, typer.Option("--evaluator", help="An evaluator of groundwire.toml: its rows, traces and judge.")
]
Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="With --evaluator, the configuration; else the metric's file, as for score."),
]
Level = Annotated[str, typer.Option("--level", help="What was scored in the files: span, trace or session.")]
Metric = Annotated[str, typer.Option("--metric", help="The metric to ask now; `groundwire manifest` lists them.")]
EachTurn = Annotated[bool, typer.Option("--each-turn", help="Every assistant turn of a bare conversation is a span.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else there.")]


def calibrate(
    labels: Annotated[
        Path | None, typer.Argument(metavar="[LABELS]", help="What people said, as `groundwire label` writes it.")
    ] = None,
    files: Files = None,
    rows: Rows = None,
    evaluator: Evaluator = None,
    config: Config = None,
    level: Level = "trace",
    metric: Metric = "agent.hallucination",
    each_turn: EachTurn = False,
    judge: Annotated[str, typer.Option("--judge", help="offline, llm or decision.")] = "offline",
    model: Annotated[str | None, typer.Option("--model", help="The judge's model.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="An OpenAI-compatible endpoint.")] = None,
    max_usd: Annotated[float | None, typer.Option("--max-usd", min=0, help="Never spend more than this.")] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Ask again, past the cache: repeated, evidence shuffled, claims padded.")
    ] = False,
    annotations: Annotated[
        str | None,
        typer.Option("--annotations", metavar="SCORE", help="With --evaluator: people's scores on its platform."),
    ] = None,
    hallucinated: Annotated[
        list[str] | None, typer.Option("--hallucinated", metavar="VALUE", help="A value of these that means it.")
    ] = None,
    since: Annotated[str, typer.Option("--since", help="Only --annotations made since: a time, or 90d (ago).")] = "90d",
    repeats: Annotated[int, typer.Option("--repeats", min=2, help="How often --probe asks the same.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Hold the judge against people: agreement, Cohen's kappa, the best threshold, steadiness and bias."""
    from groundwire.jobs.cli.calibrate import CalibrateOptions, run_calibrate

    options = CalibrateOptions(
        labels=labels,
        files=tuple(files or ()),
        rows=rows,
        evaluator=evaluator,
        config=config,
        level=level,
        metric=metric,
        each_turn=each_turn,
        judge=judge,
        model=model,
        base_url=base_url,
        max_usd=max_usd,
        probe=probe,
        repeats=repeats,
        annotations=annotations,
        hallucinated=tuple(hallucinated or ()),
        since=since,
        as_json=as_json,
    )
    raise typer.Exit(run_calibrate(options))


def label(
    files: Files = None,
    rows: Rows = None,
    evaluator: Evaluator = None,
    config: Config = None,
    out: Annotated[
        Path, typer.Option("--out", help="Where the labels go, one JSON line each; what is there already stays.")
    ] = Path("labels.jsonl"),
    n: Annotated[int, typer.Option("--n", min=1, help="How many answers; 30 to 50 are enough to begin with.")] = 40,
    seed: Annotated[int, typer.Option("--seed", help="Another seed draws other answers.")] = 1,
    claims: Annotated[bool, typer.Option("--claims", help="Ask about each claim too.")] = False,
    each_turn: EachTurn = False,
    labeller: Annotated[str, typer.Option("--labeller", help="Who labels, for the file.")] = "",
    annotate: Annotated[
        str | None,
        typer.Option("--annotate", metavar="SCORE", help="With --evaluator: write each label as this score as well."),
    ] = None,
) -> None:
    """Ask a person about a sample of answers, answer and evidence side by side, one key a label."""
    from groundwire.jobs.cli.label import LabelOptions, run_label

    options = LabelOptions(
        out=out,
        files=tuple(files or ()),
        rows=rows,
        evaluator=evaluator,
        config=config,
        n=n,
        seed=seed,
        claims=claims,
        each_turn=each_turn,
        labeller=labeller,
        annotate=annotate,
    )
    raise typer.Exit(run_label(options))


def report(
    since: Annotated[str, typer.Option("--since", help="Traces that began since: a time, or 30d (ago).")] = "30d",
    until: Annotated[str | None, typer.Option("--until", help="Traces that began before; now by default.")] = None,
    evaluator: Annotated[str | None, typer.Option("--evaluator", help="Only this evaluator.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one page with charts.")] = None,
    as_json: AsJson = False,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="The configuration; groundwire.toml by default.")
    ] = None,
) -> None:
    """Rates that can be quoted: weighted, with intervals, breaks and what was not looked at."""
    from groundwire.jobs.cli.report import ReportOptions, run_report

    options = ReportOptions(since=since, until=until, evaluator=evaluator, html=html, as_json=as_json, config=config)
    raise typer.Exit(run_report(options))


def register(app: typer.Typer) -> None:
    """Hang the commands into the application."""
    app.command()(label)
    app.command()(calibrate)
    app.command()(report)
