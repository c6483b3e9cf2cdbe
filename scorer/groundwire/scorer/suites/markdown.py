"""What the gate says, as Markdown for a pull request."""

from groundwire.scorer.suites.gate import GateReport

__all__ = ["gate_markdown"]

_SIGNS = {"pass": "✅", "block": "❌", "unclear": "⚠️"}


def gate_markdown(report: GateReport, *, overridden: str | None = None) -> str:
    """A heading with the verdict, a table of the rules, and the override where there is one.

    `overridden` is one line that says who and why.
    """
    blocked = bool(report.blocking)
    verdict = "passes" if not blocked else "is blocked" if overridden is None else "passes by override"
    lines = [
        f"### {_SIGNS['block' if blocked and overridden is None else 'pass']} {_cell(report.candidate)} {verdict}",
        "",
        f"Suite {_cell(report.suite)}, version {_cell(report.version)}; baseline {_cell(report.baseline)}.",
        "",
        "| | rule | finding |",
        "|---|---|---|",
    ]
    lines += [f"| {_SIGNS[check.outcome]} | {_cell(check.rule)} | {_cell(check.message)} |" for check in report.checks]
    if overridden is not None:
        lines += ["", f"**Overridden** {_cell(overridden)}"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text that stays one cell and no markup of its own."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "\\`")
