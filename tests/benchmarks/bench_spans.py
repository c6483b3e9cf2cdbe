"""How exactly the offline judge marks what is wrong: one known edit of a supported claim, and the edit is the label.

`python -m tests.benchmarks.bench_spans [--json FILE]`. Supported claims of the shared sets are joined, three of one
set to an answer over the evidence of all three, and one of them is edited once: a figure or a month changed, a name
exchanged for one of another claim, a statement negated, a clause added. Precision, recall and F1 count characters over
all answers of a kind; the same answers unedited show how much is marked where nothing was changed.
"""

import asyncio
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from tests.benchmarks.sets import available, whole

from groundwire.scorer import Block, Limits, OfflineJudge, View, find_spans, fit

Kind = Literal["figure", "month", "name", "negation", "addition"]
KINDS: tuple[Kind, ...] = ("figure", "month", "name", "negation", "addition")
SETS = ("wice", "begin", "fcgpt")
TOGETHER = 3
"""Claims of one answer."""
MOST = 120
"""Answers of a set."""

_FIGURE = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b(?= \d)|(?<=\d )\b(?:{'|'.join(_MONTHS)})\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)+")
_VERB = re.compile(r"\b(?:is|was|are|were|has|had)\b(?! not\b)")
_ADDITIONS = (
    ", which cost 41 million dollars",
    ", after a long dispute with the city of Reykjavik",
    ", and it later received the Sorensen Prize",
    ", as 37 witnesses confirmed",
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """An answer with at most one edit."""

    answer: str
    evidence: View
    kind: Kind | None = None
    start: int = 0
    end: int = 0
    """Where the edit stands in the answer."""


def edited(claim: str, kind: Kind, others: Sequence[str], draw: random.Random) -> tuple[str, int, int] | None:
    """The claim with one edit of that kind and the edit's place; None where it has nothing of the kind."""
    if kind == "addition":
        body = claim.rstrip(".")
        more = draw.choice(_ADDITIONS)
        return f"{body}{more}.", len(body), len(body) + len(more)
    if kind == "negation":
        verb = _VERB.search(claim)
        return None if verb is None else _replaced(claim, verb, f"{verb[0]} not")
    pattern = {"figure": _FIGURE, "month": _MONTH, "name": _NAME}[kind]
    found = pattern.search(claim)
    if found is None:
        return None
    if kind == "figure":
        digits = re.sub(r"\D", "", found[0])[:6]
        new = str(int(digits) + draw.choice((3, 7, 11, 14)))
    elif kind == "month":
        new = draw.choice([month for month in _MONTHS if month not in claim])
    else:
        names = [name for other in others for name in _NAME.findall(other) if name not in claim]
        if not names:
            return None
        new = draw.choice(names)
    return _replaced(claim, found, new)


def _replaced(claim: str, found: "re.Match[str]", new: str) -> tuple[str, int, int]:
    return claim[: found.start()] + new + claim[found.end() :], found.start(), found.start() + len(new)


def cases(name: str, kind: Kind | None, *, most: int = MOST, seed: int = 0) -> Iterator[Case]:
    """Answers of one set; the same for the same seed."""
    draw = random.Random(f"{seed}:{name}:{kind}")
    items = [item for item in whole(name) if not item.hallucinated and 30 < len(item.claim) < 400]
    random.Random(seed).shuffle(items)
    made = 0
    for at in range(0, len(items) - TOGETHER + 1, TOGETHER):
        if made == most:
            return
        group = items[at : at + TOGETHER]
        claims = [
            item.claim.strip() if item.claim.strip().endswith(".") else f"{item.claim.strip()}." for item in group
        ]
        blocks = [Block(name=f"E{n}", kind="tool", text=item.evidence) for n, item in enumerate(group, start=1)]
        view = fit(blocks, Limits(response=20_000, total=60_000))
        if kind is None:
            made += 1
            yield Case(answer=" ".join(claims), evidence=view)
            continue
        which = draw.randrange(TOGETHER)
        others = [item.claim for item in draw.sample(items, min(len(items), 40)) if item.claim not in claims]
        for turn in range(TOGETHER):
            index = (which + turn) % TOGETHER
            change = edited(claims[index], kind, others, draw)
            if change is not None:
                before = sum(len(claim) + 1 for claim in claims[:index])
                answer = " ".join([*claims[:index], change[0], *claims[index + 1 :]])
                made += 1
                yield Case(answer=answer, evidence=view, kind=kind, start=before + change[1], end=before + change[2])
                break


@dataclass
class Overlap:
    """Characters, added up over answers."""

    answers: int = 0
    wrong: int = 0
    """In the edits."""
    marked: int = 0
    both: int = 0
    hit: int = 0
    """Answers whose edit is touched by a span."""
    flagged: int = 0
    """Answers with any span."""
    unknown: int = 0
    characters: int = 0

    def add(self, case: Case, spans: Sequence[tuple[int, int]], *, unknown: bool) -> None:
        marked = {index for start, end in spans for index in range(start, end)}
        wrong = set(range(case.start, case.end))
        self.answers += 1
        self.characters += len(case.answer)
        self.unknown += unknown
        self.wrong += len(wrong)
        self.marked += len(marked)
        self.both += len(marked & wrong)
        self.hit += bool(marked & wrong)
        self.flagged += bool(marked)

    def figures(self) -> dict[str, Any]:
        precision = self.both / self.marked if self.marked else 0.0
        recall = self.both / self.wrong if self.wrong else 0.0
        both = precision + recall
        return {
            "answers": self.answers,
            "precision": round(precision, 3),
            "recall": round(recall, 3),
            "f1": round(2 * precision * recall / both, 3) if both else 0.0,
            "edits touched": round(self.hit / self.answers, 3) if self.answers else 0.0,
            "answers flagged": round(self.flagged / self.answers, 3) if self.answers else 0.0,
            "characters marked": round(self.marked / self.characters, 3) if self.characters else 0.0,
            "unknown": self.unknown,
        }


async def measured(kind: Kind | None, *, most: int = MOST) -> Overlap:
    """The overlap over all sets."""
    judge, overlap = OfflineJudge(), Overlap()
    for name in SETS:
        for case in cases(name, kind, most=most):
            found = await find_spans(judge, request="", answer=case.answer, evidence=case.evidence)
            spans = [(span.start, span.end) for span in found.spans]
            overlap.add(case, spans, unknown=found.outcome == "unknown")
    return overlap


def measure(*, most: int = MOST) -> dict[str, Any]:
    """The figures by kind of edit, over all edits, and of the same answers unedited."""
    out: dict[str, Any] = {}
    total = Overlap()
    for kind in KINDS:
        one = asyncio.run(measured(kind, most=most))
        out[kind] = one.figures()
        for name in ("answers", "wrong", "marked", "both", "hit", "flagged", "unknown", "characters"):
            setattr(total, name, getattr(total, name) + getattr(one, name))
    out["all edits"] = total.figures()
    clean = asyncio.run(measured(None, most=most)).figures()
    out["unedited"] = {name: clean[name] for name in ("answers", "answers flagged", "characters marked", "unknown")}
    return out


def main() -> None:
    """Print the table; with `--json FILE` write the figures too."""
    if not available():
        print("the labelled sets are not beside the checkout; nothing to measure")
        return
    found = measure()
    columns = (
        "answers",
        "precision",
        "recall",
        "f1",
        "edits touched",
        "answers flagged",
        "characters marked",
        "unknown",
    )
    table = Table("edit", *columns, box=None)
    for kind, figures in found.items():
        table.add_row(kind, *(str(figures.get(name, "–")) for name in columns))
    Console(width=140).print(table)
    if "--json" in sys.argv:
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
