"""The commands over drafts and sets of cases, with their arguments: `verify`, `suite`, `graduate`, `gate`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]

JudgeKind = Annotated[str | None, typer.Option("--judge", help="offline, llm or decision.")]
Model = Annotated[str | None, typer.Option("--model", help="The judge's model.")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="An OpenAI-compatible endpoint.")]
MaxUsd = Annotated[float | None, typer.Option("--max-usd", min=0, help="Never spend more than this.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else there.")]


def verify(
    draft: Annotated[
        str, typer.Argument(metavar="DRAFT", help="[{claim, quote, source}], or an API's response with citations; -.")
    ],
    sources: Annotated[Path, typer.Option("--sources", help="The texts by id: {id: text}.")],
    as_json: AsJson = False,
    judge: JudgeKind = None,
    model: Model = None,
    base_url: BaseUrl = None,
    max_usd: MaxUsd = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A TOML file with a [judge] table: its price, headers, …")
    ] = None,
    retry: Annotated[
        str | None, typer.Option("--retry", metavar="MODULE:FUNCTION", help="Redrafts a claim that failed, once.")
    ] = None,
    escalate: Annotated[bool, typer.Option("--escalate", help="Hand what failed to a person, not to the bin.")] = False,
) -> None:
    """Check a draft's citations: the source exists, the quote is in it, and with --judge that it supports the claim."""
    from groundwire.jobs.cli.judges import JudgeOptions
    from groundwire.jobs.cli.verify import VerifyOptions, run_verify

    asked = JudgeOptions.of(judge, model=model, base_url=base_url, max_usd=max_usd, config=config)
    options = VerifyOptions(draft=draft, sources=sources, as_json=as_json, judge=asked, retry=retry, escalate=escalate)
    raise typer.Exit(run_verify(options))


SuiteFile = Annotated[Path, typer.Argument(metavar="SUITE", help="The suite.toml.")]


def suite(
    path: SuiteFile,
    target: Annotated[
        str | None, typer.Option("--target", metavar="MODULE:FUNCTION", help="The function under test.")
    ] = None,
    recorded: Annotated[
        Path | None, typer.Option("--recorded", help="Outputs that were recorded, one a line, instead of a target.")
    ] = None,
    trials: Annotated[int | None, typer.Option("--trials", min=1, help="Runs of every case.")] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, help="Of pass@k and pass^k; the trials by default.")] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="What people say of the answers, to hold the judge against.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the results, which `gate` reads, as JSON.")] = None,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML.")] = None,
    as_json: AsJson = False,
    max_usd: MaxUsd = None,
) -> None:
    """Run a suite of cases against a function or recorded outputs: pass rate, pass@k, pass^k, latency, cost."""
    from groundwire.jobs.cli.suite import SuiteOptions, run_suite_command

    options = SuiteOptions(
        suite=path,
        target=target,
        recorded=recorded,
        trials=trials,
        k=k,
        labels=labels,
        out=out,
        junit=junit,
        as_json=as_json,
        max_usd=max_usd,
    )
    raise typer.Exit(run_suite_command(options))


def graduate(
    path: SuiteFile,
    case: Annotated[str, typer.Argument(metavar="CASE", help="The case's id.")],
    results: Annotated[
        Path | None, typer.Option("--results", help="Results in which it must have passed every trial.")
    ] = None,
) -> None:
    """Make a capability case a regression case."""
    from groundwire.jobs.cli.suite import run_graduate

    run_graduate(path, case, results)


def gate(
    baseline: Annotated[Path, typer.Argument(metavar="BASELINE", help="Results of what is shipped.")],
    candidate: Annotated[Path, typer.Argument(metavar="CANDIDATE", help="Results of what is to be shipped.")],
    config: Annotated[Path | None, typer.Option("--config", help="The rules: gate.toml.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write a summary for a pull request.")] = None,
    as_json: AsJson = False,
    override: Annotated[
        str | None, typer.Option("--override", metavar="REASON", help="Ship all the same, and why; needs --by.")
    ] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who ships all the same.")] = None,
    record: Annotated[Path, typer.Option("--record", help="Where overrides are recorded, one a line.")] = Path(
        "gate-overrides.jsonl"
    ),
) -> None:
    """Block a candidate that is worse than the baseline; exit code 1."""
    from groundwire.jobs.cli.gate import GateOptions, run_gate

    options = GateOptions(
        baseline=baseline,
        candidate=candidate,
        config=config,
        markdown=markdown,
        as_json=as_json,
        override=override,
        by=by,
        record=record,
    )
    raise typer.Exit(run_gate(options))


def register(app: typer.Typer) -> None:
    """Hang the commands into the application."""
    for command in (verify, suite, graduate, gate):
        app.command()(command)
