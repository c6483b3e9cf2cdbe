"""The commands over drafts and sets of cases, with their arguments: `verify`."""

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
    retry: Annotated[
        str | None, typer.Option("--retry", metavar="MODULE:FUNCTION", help="Redrafts a claim that failed, once.")
    ] = None,
    escalate: Annotated[bool, typer.Option("--escalate", help="Hand what failed to a person, not to the bin.")] = False,
) -> None:
    """Check a draft's citations: the source exists, the quote is in it, and with --judge that it supports the claim."""
    from groundwire.jobs.cli.judges import JudgeOptions
    from groundwire.jobs.cli.verify import VerifyOptions, run_verify

    asked = JudgeOptions.of(judge, model=model, base_url=base_url, max_usd=max_usd)
    options = VerifyOptions(draft=draft, sources=sources, as_json=as_json, judge=asked, retry=retry, escalate=escalate)
    raise typer.Exit(run_verify(options))


def register(app: typer.Typer) -> None:
    """Hang the commands into the application."""
    app.command()(verify)
