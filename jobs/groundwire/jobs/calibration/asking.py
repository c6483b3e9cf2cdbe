"""Asking a person: one answer at a time beside its evidence, one key a label, every label written at once."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundwire.jobs.calibration.drawing import Drawn
from groundwire.jobs.calibration.labels import HumanLabel, Verdict
from groundwire.scorer import Claim, Material, Row

__all__ = ["Asked", "Ending", "Question", "ask_all"]

BLOCK_LIMIT = 4_000
"""Most characters shown of one block, and of an answer; what is left out is counted."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What a terminal would obey instead of showing it."""

_VERDICTS: Mapping[str, Verdict] = {"h": "hallucinated", "g": "grounded"}

Ending = Literal["finished", "quit"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """An answer to be labelled."""

    row: Row
    material: Material
    drawn: Drawn


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How people are asked."""

    keys: Callable[[], str]
    """Waits for one key."""
    line: Callable[[str], str]
    """Waits for a line of text, after a prompt."""
    write: Callable[[HumanLabel], None]
    """Keeps a label; called as soon as it is given."""
    console: Console
    clock: Callable[[], datetime]
    labeller: str = ""
    claims: bool = False
    """Also ask about each claim that the judge split off, without saying what the judge made of it."""


def ask_all(questions: Sequence[Question], asked: Asked, *, before: int = 0) -> Ending:
    """Ask about each in turn, from the first; `before` were labelled earlier. `b` goes one back, `q` stops."""
    at = 0
    while at < len(questions):
        question = questions[at]
        _show(question, asked.console, f"{before + at + 1} of {before + len(questions)}")
        step = _ask(question, asked)
        if step == "quit":
            return "quit"
        at = max(at - 1, 0) if step == "back" else at + 1
    return "finished"


def _ask(question: Question, asked: Asked) -> Literal["next", "back", "quit"]:
    reason = ""
    while True:
        asked.console.print(
            "[bold]h[/] hallucinated  [bold]g[/] grounded  [bold]s[/] skip  [bold]r[/] write a reason  "
            "[bold]b[/] back  [bold]q[/] stop",
        )
        match asked.keys().lower():
            case "h" | "g" as key:
                claims = _ask_claims(question, asked) if asked.claims else ()
                if claims is None:
                    return "quit"
                asked.write(_label(question, asked, _VERDICTS[key], reason, claims))
                return "next"
            case "s":
                return "next"
            case "b":
                return "back"
            case "q" | "\x03" | "\x04" | "":
                return "quit"
            case "r":
                reason = asked.line("reason: ")


def _ask_claims(question: Question, asked: Asked) -> tuple[dict[str, Any], ...] | None:
    said: list[dict[str, Any]] = []
    for number, claim in enumerate(question.row.claims, start=1):
        asked.console.print(Text(f"claim {number} of {len(question.row.claims)}: {_clean(claim.text)}"))
        asked.console.print("[bold]h[/] hallucinated  [bold]g[/] grounded  [bold]s[/] skip  [bold]q[/] stop")
        while (key := asked.keys().lower()) not in ("h", "g", "s", "q", "\x03", "\x04", ""):
            continue
        if key in _VERDICTS:
            said.append(_claim(claim, _VERDICTS[key]))
        elif key != "s":
            return None
    return tuple(said)


def _claim(claim: Claim, verdict: Verdict) -> dict[str, Any]:
    return {"text": claim.text, "start": claim.start, "end": claim.end, "label": verdict}


def _label(
    question: Question, asked: Asked, verdict: Verdict, reason: str, claims: tuple[dict[str, Any], ...]
) -> HumanLabel:
    row = question.row
    return HumanLabel.model_validate(
        {
            "row_id": row.row_id,
            "partition_id": row.partition_id,
            "partition_type": row.partition_type,
            "trace_id": row.trace_id,
            "label": verdict,
            "claims": claims,
            "reason": reason,
            "labeller": asked.labeller,
            "content_hash": question.material.content_hash,
            "inclusion": question.drawn.inclusion,
            "labelled_at": asked.clock(),
        }
    )


def _show(question: Question, console: Console, title: str) -> None:
    """The answer beside the evidence; nothing of what the judge said, which would sway the person."""
    console.rule(Text(f"{title} · trace {_clean(question.row.trace_id)}"), align="left")
    material = question.material
    if material.question:
        console.print(Text(_clean(material.question), style="italic"))
    grid = Table(box=None, pad_edge=False, expand=True, header_style="bold")
    grid.add_column("answer", ratio=1, overflow="fold")
    grid.add_column("evidence", ratio=1, overflow="fold")
    evidence = Text()
    for block in material.blocks:
        failed = " (failed)" if block.failed else ""
        evidence.append(f"{block.name} {_clean(block.tool_name or block.kind)}{failed}\n", style="bold dim")
        evidence.append(f"{_cut(block.text)}\n")
    grid.add_row(Text(_cut(material.answer)), evidence)
    console.print(grid)


def _cut(text: str) -> str:
    gone = len(text) - BLOCK_LIMIT
    return _clean(text) if gone <= 0 else f"{_clean(text[:BLOCK_LIMIT])} […{gone:,} more characters]"


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)
