"""From what was measured to one of three states for a claim: supported, hallucinated, or undecided."""

import re
from dataclasses import dataclass
from functools import cached_property

from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.claims import Check, Citation, Claim, DraftClaim, Label
from groundwire.scorer.evidence import Shown, View
from groundwire.scorer.judges.actions import Deed, deed
from groundwire.scorer.judges.categories import Category, category
from groundwire.scorer.judges.combination import Combination
from groundwire.scorer.judges.features import Alignment, align, vector
from groundwire.scorer.judges.languages import guess
from groundwire.scorer.judges.leaves import Leaf, leaves
from groundwire.scorer.judges.windows import Windows, negated

__all__ = ["LEXICAL", "Bench", "judge_claim"]

LEXICAL = "lexical check"
"""Opens every reason: these rules compare words and values, they understand nothing."""

_SPECIFIC = frozenset({"number", "date", "unit", "identifier", "email", "url", "quotation", "citation"})
"""Checks whose missing item makes a claim unsupported; a name that is missing may be written otherwise."""
_FABRICATED = frozenset({"url", "email", "identifier", "quotation", "citation"})
_SMALL = re.compile(r"\d{1,2}|[^\W\d]+")
"""A number that any longer text holds somewhere: alone it shows little."""
_QUOTE = 240
"""Most characters of a quote."""
_NEARLY = 0.95
"""Share of a claim's content words that data must hold together to support a claim without specifics."""
_EVEN = 0.5
"""Where the probability itself must stand for a figure to decide about a claim in prose."""


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
    def has_data(self) -> bool:
        """Whether any of it is data: its member names are no wording that a claim could share."""
        return any(window.data for window in self.windows.usable)


@dataclass(frozen=True)
class _Finding:
    """Everything that was measured about one claim."""

    draft: DraftClaim
    checks: tuple[Check, ...]
    alignment: Alignment
    deed: Deed | None
    category: Category | None
    probability: float
    comparable: bool
    """Whether claim and evidence are prose in one language, so that shared words mean something."""

    def outcome(self, *outcomes: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome in outcomes)


def judge_claim(draft: DraftClaim, bench: Bench, *, language: str) -> Claim:
    """Label one claim, or leave it undecided with the reason.

    `language` is the answer's. The probability is that of being hallucinated, whatever the label.
    """
    finding = _measure(draft, bench, language)
    for rule in (_contradicted, _undone, _otherwise, _missing, _found, _done, _agrees, _aligned):
        claim = rule(finding, bench)
        if claim is not None:
            return claim
    return _undecided(finding)


def _measure(draft: DraftClaim, bench: Bench, language: str) -> _Finding:
    checks = run_checks(draft.text, bench.index, language=language)
    alignment = align(draft.text, bench.windows, checks)
    best = alignment.best
    return _Finding(
        draft=draft,
        checks=checks,
        alignment=alignment,
        deed=deed(draft.text, bench.view),
        category=category(draft.text, bench.leaves),
        probability=bench.combination.probability(vector(alignment)),
        comparable=bool(bench.windows.usable) and not bench.has_data and guess(draft.text, bench.language) == bench.language,
    )


def _contradicted(finding: _Finding, bench: Bench) -> Claim | None:
    wrong = next(iter(finding.outcome("contradicted")), None)
    if wrong is None:
        return None
    where = f" in {wrong.block}" if wrong.block else ""
    reason = f"{wrong.check} {wrong.text!r} disagrees with {wrong.quote or 'another value'!r}{where}"
    return _hallucinated(finding, "contradiction", reason, 0.9, evidence=_cite_check(bench, wrong))


def _undone(finding: _Finding, bench: Bench) -> Claim | None:  # noqa: ARG001 - all rules are called alike
    match finding.deed:
        case Deed(outcome="failed", shown=Shown() as shown):
            reason = f"the deed is reported as done, but {shown.block.name} failed"
            evidence = _cite(shown, _first_line(shown.text))
            return _hallucinated(finding, "false_success", reason, 0.9, evidence=evidence)
        case Deed(outcome="absent"):
            reason = "the deed is reported as done, but no tool that could do it ran"
            return _hallucinated(finding, "false_success", reason, 0.85)
    return None


def _otherwise(finding: _Finding, bench: Bench) -> Claim | None:  # noqa: ARG001 - all rules are called alike
    said = finding.category
    if said is None or said.agrees:
        return None
    reason = f"{said.said!r} disagrees with {said.leaf.quote} in {said.leaf.shown.block.name}"
    return _hallucinated(finding, "contradiction", reason, 0.88, evidence=_cite_leaf(said.leaf))


def _missing(finding: _Finding, bench: Bench) -> Claim | None:
    absent = [check for check in finding.outcome("not_found") if check.check in _SPECIFIC]
    if not absent:
        return None
    if bench.cut or (bench.view.media and not bench.windows.usable):  # it may stand in what was not looked at
        return _undecided(finding)
    if finding.comparable and finding.probability < _EVEN:
        return _undecided(finding)
    names = ", ".join(f"{check.check} {check.text!r}" for check in absent[:3])
    kind = "fabricated_reference" if any(check.check in _FABRICATED for check in absent) else "unsupported_addition"
    return _hallucinated(finding, kind, f"{names} not found in the evidence", 0.8)


def _found(finding: _Finding, bench: Bench) -> Claim | None:
    held = [check for check in finding.outcome("found", "derived") if check.check in _SPECIFIC]
    telling = [check for check in held if _tells(check, bench)]
    if not telling:
        return None
    if finding.comparable and finding.probability >= _EVEN:
        return None if finding.probability >= bench.combination.high else _undecided(finding)
    if finding.deed is not None and finding.deed.outcome == "open":
        return _undecided(finding)
    telling.sort(key=lambda check: not (check.block or "").startswith("E"))
    evidence = next((cited for check in telling if (cited := _cite_check(bench, check)) is not None), None)
    if evidence is None:
        return None
    derived = next((check for check in held if check.outcome == "derived"), None)
    names = ", ".join(dict.fromkeys(check.text for check in held[:4]))
    reason = f"{derived.text!r} follows by arithmetic from the evidence" if derived else f"{names} found in the evidence"
    return _supported(finding, reason, 0.15, evidence)


def _tells(check: Check, bench: Bench) -> bool:
    """Whether a found item shows something: a small number in prose doesn't, nor a sum of numbers that prose mentions."""
    shown = bench.view.find(check.block) if check.block else None
    if check.path is not None and check.path != "$":
        return True
    if check.outcome == "derived":
        return shown is not None and shown.block.kind == "tool"
    return check.check != "number" or _SMALL.fullmatch(check.text.strip("*_ ")) is None


def _done(finding: _Finding, bench: Bench) -> Claim | None:  # noqa: ARG001 - all rules are called alike
    match finding.deed:
        case Deed(outcome="done", shown=Shown() as shown):
            evidence = _cite(shown, _first_line(shown.text))
            return _supported(finding, f"{shown.block.name} ran and did not fail", 0.25, evidence)
        case Deed(outcome="open"):
            return _undecided(finding)
    return None


def _agrees(finding: _Finding, bench: Bench) -> Claim | None:  # noqa: ARG001 - all rules are called alike
    said = finding.category
    if said is None:
        return None
    return _supported(finding, f"{said.said!r} agrees with {said.leaf.quote}", 0.15, _cite_leaf(said.leaf))


def _aligned(finding: _Finding, bench: Bench) -> Claim | None:
    alignment = finding.alignment
    if alignment.best is None or not alignment.content:
        return None
    if finding.comparable and finding.probability >= bench.combination.high and not bench.cut:
        reason = "most of its words are nowhere in the evidence"
        return _hallucinated(finding, "unsupported_addition", reason, finding.probability)
    same_language = guess(finding.draft.text, bench.language) == bench.language
    by_wording = not alignment.best.data and same_language and finding.probability <= bench.combination.low
    together = alignment.coverage >= _NEARLY and len(alignment.content) >= 2 and not negated(finding.draft.text)
    if by_wording or together:
        evidence = _cite_words(bench, alignment)
        if evidence is not None and evidence.verified:
            return _supported(finding, f"its words stand in {evidence.block}", 0.3, evidence)
    return None


def _supported(finding: _Finding, reason: str, probability: float, evidence: Citation) -> Claim:
    scaled = finding.probability / 2 if finding.comparable else probability
    return _claim(finding, "supported", reason, scaled, evidence=evidence)


def _hallucinated(
    finding: _Finding, kind: str, reason: str, probability: float, *, evidence: Citation | None = None
) -> Claim:
    scaled = 0.5 + finding.probability / 2 if finding.comparable else probability
    return _claim(finding, "hallucinated", reason, scaled, kind=kind, evidence=evidence)


def _undecided(finding: _Finding) -> Claim:
    return _claim(finding, None, "undecided", finding.probability if finding.comparable else 0.5)


def _claim(
    finding: _Finding,
    label: Label | None,
    reason: str,
    probability: float,
    *,
    kind: str | None = None,
    evidence: Citation | None = None,
) -> Claim:
    return Claim(
        text=finding.draft.text,
        start=finding.draft.start,
        end=finding.draft.end,
        label=label,
        type=kind,
        reason=f"{LEXICAL}: {reason}" if label else reason,
        evidence=evidence,
        checks=finding.checks,
        probability=round(probability, 4),
    )


def _cite_check(bench: Bench, check: Check) -> Citation | None:
    shown = bench.view.find(check.block) if check.block else None
    if shown is None or not check.quote:
        return None
    return _cite(shown, check.quote, path=check.path)


def _cite_leaf(leaf: Leaf) -> Citation:
    return _cite(leaf.shown, leaf.quote, path=leaf.path)


def _cite_words(bench: Bench, alignment: Alignment) -> Citation | None:
    """The sentence of the best window that shares most words with the claim, verbatim."""
    if alignment.best is None:
        return None
    shown = bench.view.find(alignment.best.block)
    if shown is None:
        return None
    if alignment.best.data:
        line = alignment.nearest.rpartition(": ")[2]
        return _cite(shown, line) if line and line in shown.text else None
    return _cite(shown, alignment.nearest[:_QUOTE])


def _cite(shown: Shown, quote: str, *, path: str | None = None) -> Citation:
    return Citation(
        block=shown.block.name,
        span_id=shown.block.span_id,
        quote=quote,
        verified=quote.strip() != "" and quote in shown.text,
        path=path,
    )


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:_QUOTE]
