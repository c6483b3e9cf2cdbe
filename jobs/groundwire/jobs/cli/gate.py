"""`groundwire gate`: does the candidate ship?"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from groundwire.jobs.cli.show import stdout
from groundwire.jobs.gate import Override, load_gate, load_results, record_override
from groundwire.jobs.suite import write_whole
from groundwire.scorer import ConfigError, GateReport, decide_gate, gate_markdown

__all__ = ["GateOptions", "run_gate"]

_WORDS = {"pass": "pass", "block": "BLOCK", "unclear": "unclear"}


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """What the command line asked for."""

    baseline: Path
    candidate: Path
    config: Path | None = None
    markdown: Path | None = None
    as_json: bool = False
    override: str | None = None
    by: str | None = None
    record: Path = Path("gate-overrides.jsonl")


def run_gate(options: GateOptions) -> int:
    """Decide and print; the exit code: 0 it ships, 1 it is blocked. Raises `ConfigError`."""
    if options.override is None and options.by is not None:
        raise ConfigError("an override names who and why: --override REASON --by NAME")
    if options.markdown is not None and not options.markdown.absolute().parent.is_dir():
        raise ConfigError(f"{options.markdown.parent} is no folder; make it first")
    config = load_gate(options.config)
    report = decide_gate(load_results(options.baseline), load_results(options.candidate), config)
    override = None
    if options.override is not None:
        override = Override.of(report, by=options.by, why=options.override, now=datetime.now(UTC))
    if override is not None and report.blocking:
        record_override(override, options.record)
    else:
        override = None
    if options.markdown is not None:
        said = f"by {override.by} at {override.at:%Y-%m-%d %H:%M} UTC: {override.why}" if override is not None else None
        write_whole(options.markdown, gate_markdown(report, overridden=said))
    if options.as_json:
        stdout.file.write(_as_json(report, override))
    else:
        _print(report, override)
    return 1 if report.blocking and override is None else 0


def _as_json(report: GateReport, override: Override | None) -> str:
    verdict = "block" if report.blocking and override is None else "pass"
    shown = report.model_dump(mode="json") | {
        "verdict": verdict,
        "override": override.model_dump(mode="json") if override is not None else None,
    }
    return json.dumps(shown, ensure_ascii=False) + "\n"


def _print(report: GateReport, override: Override | None) -> None:
    blocking = report.blocking
    lines = [f"{'BLOCKED' if blocking else 'passed'}: {report.candidate} against {report.baseline}"]
    lines += [f"  {_WORDS[check.outcome]:8}{check.message}" for check in report.checks]
    if override is not None:
        lines.append(f"overridden by {override.by}: {override.why}")
    for line in lines:
        stdout.print(line, markup=False, highlight=False, soft_wrap=True)
