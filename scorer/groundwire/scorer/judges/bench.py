"""The evidence of one judge call, prepared once for all of its claims, and citations out of it."""

import re
from dataclasses import dataclass
from functools import cached_property

from groundwire.scorer.checks import EvidenceIndex
from groundwire.scorer.claims import Check, Citation
from groundwire.scorer.evidence import Shown, View
from groundwire.scorer.judges.combination import Combination
from groundwire.scorer.judges.features import Alignment
from groundwire.scorer.judges.languages import guess
from groundwire.scorer.judges.leaves import Leaf, leaves
from groundwire.scorer.judges.windows import Windows

__all__ = ["Bench", "cite", "cite_check", "cite_leaf", "cite_words", "first_line"]

_ENOUGH = 40
"""Words of tool results below which unshared wording says nothing."""
_CALCULATOR = re.compile(r"(?i)calc|think|math|python|eval")
"""Names of tools that work out what the model asks for and touch nothing."""
_QUOTE = 240
"""Most characters of a quote."""


@dataclass(frozen=True)
class Bench:
    """The evidence of one call, prepared once for all of its claims."""

    view: View
    index: EvidenceIndex
    windows: Windows
    leaves: tuple[Leaf, ...]
    language: str
    combination: Combination

    @classmethod
    def of(cls, view: View, language: str, combination: Combination) -> "Bench":
        """Index the shown evidence: numbers and names, windows, JSON members."""
        return cls(
            view=view,
            index=EvidenceIndex.of(view, language=language),
            windows=Windows(view, language=language),
            leaves=leaves(view),
            language=guess(" ".join(shown.text[:1_000] for shown in view.shown), language),
            combination=combination,
        )

    @property
    def cut(self) -> bool:
        """Whether any evidence was cut: then what isn't found may stand in what isn't shown."""
        return any(shown.cut for shown in self.view.shown)

    @cached_property
    def tools(self) -> EvidenceIndex:
        """What tools returned, without what users asked for and calculators made of it: only that shows a deed."""
        tools = tuple(
            shown
            for shown in self.view.shown
            if shown.block.kind == "tool" and not _CALCULATOR.search(shown.block.tool_name or "")
        )
        return EvidenceIndex.of(View(shown=tools), language=self.index.language)

    @cached_property
    def member_words(self) -> frozenset[str]:
        """The words of the member names in the evidence, `p95` of `p95_latency_ms`: to say one is to invent nothing."""
        return frozenset(
            word.casefold() for key in {leaf.key for leaf in self.leaves} for word in re.split(r"[\W_]+", key)
        )

    @cached_property
    def reads(self) -> bool:
        """Whether there is enough prose for wording to be missed in it: an agent's tools must have returned some."""
        sources = [shown for shown in self.view.shown if shown.block.kind == "tool" and not shown.block.failed]
        if not any(shown.block.kind == "tool" for shown in self.view.shown):
            return True
        return sum(len(shown.text.split()) for shown in sources) >= _ENOUGH

    @cached_property
    def has_data(self) -> bool:
        """Whether any of it is data: its member names are no wording that a claim could share."""
        return any(window.data for window in self.windows.usable)


def cite_check(bench: Bench, check: Check) -> Citation | None:
    shown = bench.view.find(check.block) if check.block else None
    if shown is None or not check.quote:
        return None
    return cite(shown, check.quote, path=check.path)


def cite_leaf(leaf: Leaf) -> Citation:
    return cite(leaf.shown, leaf.quote, path=leaf.path)


def cite_words(bench: Bench, alignment: Alignment) -> Citation | None:
    """The sentence of the best window that shares most words with the claim, verbatim."""
    if alignment.best is None:
        return None
    shown = bench.view.find(alignment.best.block)
    if shown is None:
        return None
    if alignment.best.data:
        line = alignment.nearest.rpartition(": ")[2]
        return cite(shown, line) if line and line in shown.text else None
    return cite(shown, alignment.nearest[:_QUOTE])


def cite(shown: Shown, quote: str, *, path: str | None = None) -> Citation:
    return Citation(
        block=shown.block.name,
        span_id=shown.block.span_id,
        quote=quote,
        verified=quote.strip() != "" and quote in shown.text,
        path=path,
    )


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:_QUOTE]
