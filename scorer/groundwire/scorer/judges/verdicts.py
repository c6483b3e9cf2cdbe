"""From what was measured to one of three states for a claim: supported, hallucinated, or undecided."""

from dataclasses import dataclass

from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.claims import Check, Citation, Claim, DraftClaim, Label
from groundwire.scorer.evidence import Shown, View
from groundwire.scorer.judges.actions import Deed, deed
from groundwire.scorer.judges.categories import Category, category
from groundwire.scorer.judges.combination import Combination
from groundwire.scorer.judges.features import Alignment, align, negated, vector
from groundwire.scorer.judges.languages import guess
from groundwire.scorer.judges.leaves import Leaf, leaves
from groundwire.scorer.judges.windows import Windows

__all__ = ["LEXICAL", "Bench", "judge_claim"]

LEXICAL = "lexical check"
"""Opens every reason: these rules compare words and values, they understand nothing."""

_SPECIFIC = frozenset({"number", "date", "unit", "identifier", "email", "url", "quotation", "citation"})
"""Checks whose missing item makes a claim unsupported; a name that is missing may be written otherwise."""
_FABRICATED = frozenset({"url", "email", "identifier", "quotation", "citation"})
_QUOTE = 240
"""Most characters of a quote."""
_NEARLY = 0.95
"""Share of a claim's content words that data must hold to support a claim without specifics."""


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
        comparable=best is not None and not best.data and guess(draft.text, bench.language) == bench.language,
    )


def _contradicted(finding: _Finding, bench: Bench) -> Claim | None:
    wrong = next((check for check in finding.outcome("contradicted")), None)
    if wrong is None:
        return None
    where = f" in {wrong.block}" if wrong.block else ""
    reason = f"{wrong.check} {wrong.text!r} disagrees with {wrong.quote or 'another value'!r}{where}"
    return _claim(finding, "hallucinated", reason, kind="contradiction", evidence=_cite_check(bench, wrong), floor=0.9)


def _undone(finding: _Finding, bench: Bench) -> Claim | None:
    match finding.deed:
        case Deed(outcome="failed", shown=Shown() as shown):
            reason = f"the deed is reported as done, but {shown.block.name} failed"
            evidence = _cite(shown, shown.text[:_QUOTE])
            return _claim(finding, "hallucinated", reason, kind="false_success", evidence=evidence, floor=0.9)
        case Deed(outcome="absent"):
            return _claim(
                finding,
                "hallucinated",
                "the deed is reported as done, but no tool that could do it ran",
                kind="false_success",
                floor=0.85,
            )
    return None


def _otherwise(finding: _Finding, bench: Bench) -> Claim | None:
    said = finding.category
    if said is None or said.agrees:
        return None
    reason = f"{said.said!r} disagrees with {said.leaf.quote} in {said.leaf.shown.block.name}"
    return _claim(finding, "hallucinated", reason, kind="contradiction", evidence=_cite_leaf(said.leaf), floor=0.88)


def _missing(finding: _Finding, bench: Bench) -> Claim | None:
    absent = [check for check in finding.outcome("not_found") if check.check in _SPECIFIC]
    if not absent:
        return None
    names = ", ".join(f"{check.check} {check.text!r}" for check in absent[:3])
    if not bench.windows.usable and bench.view.media:
        return _undecided(finding)
    if bench.cut:
        return _undecided(finding)
    kind = "fabricated_reference" if any(check.check in _FABRICATED for check in absent) else "unsupported_addition"
    return _claim(finding, "hallucinated", f"{names} not found in the evidence", kind=kind, floor=0.8)


def _found(finding: _Finding, bench: Bench) -> Claim | None:
    held = [check for check in finding.outcome("found", "derived") if check.check in _SPECIFIC or check.check == "name"]
    specific = [check for check in held if check.check in _SPECIFIC]
    if not specific:
        return None
    if finding.comparable and finding.probability >= bench.combination.high:
        return _undecided(finding)
    derived = next((check for check in specific if check.outcome == "derived"), None)
    names = ", ".join(dict.fromkeys(check.text for check in specific[:4]))
    reason = (
        f"{derived.text!r} follows from the evidence ({derived.quote})" if derived else f"{names} found in the evidence"
    )
    evidence = next((cited for check in specific if (cited := _cite_check(bench, check)) is not None), None)
    if evidence is None:
        return _undecided(finding)
    return _claim(finding, "supported", reason, evidence=evidence, ceiling=0.25)


def _done(finding: _Finding, bench: Bench) -> Claim | None:
    match finding.deed:
        case Deed(outcome="done", shown=Shown() as shown):
            evidence = _cite(shown, _first_line(shown.text))
            return _claim(
                finding, "supported", f"{shown.block.name} ran and did not fail", evidence=evidence, ceiling=0.3
            )
        case Deed(outcome="open"):
            return _undecided(finding)
    return None


def _agrees(finding: _Finding, bench: Bench) -> Claim | None:
    said = finding.category
    if said is None:
        return None
    return _claim(
        finding,
        "supported",
        f"{said.said!r} agrees with {said.leaf.quote}",
        evidence=_cite_leaf(said.leaf),
        ceiling=0.2,
    )


def _aligned(finding: _Finding, bench: Bench) -> Claim | None:
    best = finding.alignment.best
    if best is None or not finding.alignment.content:
        return None
    combination = bench.combination
    if not finding.comparable:
        if (
            finding.alignment.coverage >= _NEARLY
            and len(finding.alignment.content) >= 2
            and not negated(finding.draft.text)
        ):
            evidence = _cite_words(bench, finding.alignment)
            if evidence is not None:
                return _claim(
                    finding,
                    "supported",
                    "all of its words stand together in the evidence",
                    evidence=evidence,
                    ceiling=0.3,
                )
        return None
    if finding.probability <= combination.low:
        evidence = _cite_words(bench, finding.alignment)
        if evidence is not None:
            return _claim(finding, "supported", f"its words stand in {evidence.block}", evidence=evidence)
    if finding.probability >= combination.high and not bench.cut:
        return _claim(
            finding, "hallucinated", "most of its words are nowhere in the evidence", kind="unsupported_addition"
        )
    return None


def _claim(
    finding: _Finding,
    label: Label,
    reason: str,
    *,
    kind: str | None = None,
    evidence: Citation | None = None,
    floor: float = 0.0,
    ceiling: float = 1.0,
) -> Claim:
    """A decided claim; a rule that decides moves the probability to its own side."""
    return Claim(
        text=finding.draft.text,
        start=finding.draft.start,
        end=finding.draft.end,
        label=label,
        type=kind,
        reason=f"{LEXICAL}: {reason}",
        evidence=evidence,
        checks=finding.checks,
        probability=round(min(max(finding.probability, floor), ceiling), 4),
    )


def _undecided(finding: _Finding) -> Claim:
    return Claim(
        text=finding.draft.text,
        start=finding.draft.start,
        end=finding.draft.end,
        reason="undecided",
        checks=finding.checks,
        probability=round(finding.probability, 4),
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
