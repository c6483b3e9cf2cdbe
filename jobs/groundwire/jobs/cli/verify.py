"""`groundwire verify`: the citations of a draft against its sources."""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.jobs.cli.judges import JudgeOptions, open_judge
from groundwire.jobs.cli.show import stderr, stdout
from groundwire.scorer import (
    MICRO,
    ConfigError,
    Retry,
    Verification,
    VerifiedClaim,
    load_callable,
    read_draft,
    read_sources,
    resolve,
    verify,
)

__all__ = ["VerifyOptions", "read_json", "run_verify"]


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """What the command line asked for."""

    draft: str
    sources: Path
    as_json: bool = False
    judge: JudgeOptions | None = None
    retry: str | None = None
    escalate: bool = False


def run_verify(options: VerifyOptions) -> int:
    """Verify and print; the exit code: 0 every claim is kept, 1 some are not. Raises `ConfigError`."""
    sources = read_sources(read_json(options.sources))
    draft = read_draft(read_json(options.draft), sources)
    retry = load_callable(options.retry) if options.retry else None
    found = asyncio.run(_resolved(verify(draft, sources), sources, options, retry))
    if options.as_json:
        stdout.file.write(found.model_dump_json() + "\n")
    else:
        _print(found)
    return 0 if len(found.kept) == len(found.claims) else 1


async def _resolved(
    verification: Verification, sources: dict[str, str], options: VerifyOptions, retry: Retry | None
) -> Verification:
    if options.judge is None:
        return await resolve(verification, sources, retry=retry, escalate=options.escalate)
    async with open_judge(options.judge) as judge:
        return await resolve(verification, sources, judge=judge, retry=retry, escalate=options.escalate)


def read_json(path: Path | str) -> Any:
    """The JSON value in a file; `-` is standard input. Raises `ConfigError`, which never shows the text."""
    try:
        text = sys.stdin.read() if str(path) == "-" else Path(path).read_text(encoding="utf-8")
        return json.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}: not valid JSON, line {error.lineno} column {error.colno}: {error.msg}") from None
    except (UnicodeDecodeError, RecursionError):
        raise ConfigError(f"{path}: not valid JSON in UTF-8") from None


def _print(found: Verification) -> None:
    lines = [f"kept {len(found.kept)} of {len(found.claims)} claims"]
    lines += [f"kept: {claim.claim!r} -> {notes}" for claim in found.kept if (notes := _notes(claim))]
    lines += [f"dropped: {claim.claim!r} -> {claim.explanation}" for claim in found.dropped]
    lines += [f"escalated: {claim.claim!r} -> {claim.explanation}" for claim in found.escalated]
    if found.uncited:
        lines.append(f"not checked, because without a citation: {len(found.uncited)} of the answer's passages")
    for line in lines:
        stdout.print(line, markup=False, highlight=False, soft_wrap=True)
    if found.usage.calls:
        stderr.print(f"{found.usage.calls} judge calls, ${found.usage.micro_dollars / MICRO:.6f}", highlight=False)


def _notes(claim: VerifiedClaim) -> str:
    """What a reader should know of a claim that was kept."""
    notes = []
    if any(passage.exact is False for passage in claim.passages):
        notes.append("the quote matches once spelling is normalised")
    if any(passage.moved for passage in claim.passages):
        notes.append("the quote stands elsewhere than the citation says")
    if any(passage.quote is None for passage in claim.passages):
        notes.append("cites the source as a whole, without a quote")
    if claim.retried:
        notes.append("redrafted")
    return "; ".join(notes)
