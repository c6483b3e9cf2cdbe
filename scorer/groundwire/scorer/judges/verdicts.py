"""From what was measured to one of three states for a claim: supported, hallucinated, or undecided."""

import re
from dataclasses import dataclass

from groundwire.scorer.checks import run_checks
from groundwire.scorer.claims import Check, Citation, Claim, DraftClaim, Label
from groundwire.scorer.evidence import Shown
from groundwire.scorer.judges.actions import Deed, deed
from groundwire.scorer.judges.bench import Bench, cite, cite_check, cite_leaf, cite_words, first_line
from groundwire.scorer.judges.categories import Category, category
from groundwire.scorer.judges.features import Alignment, align, vector
from groundwire.scorer.judges.languages import guess
from groundwire.scorer.judges.records import member_of, misnamed, misplaced, named, total_of
from groundwire.scorer.judges.windows import negated

__all__ = ["LEXICAL", "judge_claim"]

LEXICAL = "lexical check"
"""Opens every reason: these rules compare words and values, they understand nothing."""

_SPECIFIC = frozenset({"number", "date", "unit", "identifier", "email", "url", "quotation", "citation"})
"""Checks whose missing item makes a claim unsupported; a name that is missing may be written otherwise."""
_FABRICATED = frozenset({"url", "email", "identifier", "quotation", "citation"})
_SMALL = re.compile(r"\d{1,2}|[^\W\d]+")
"""A number that any longer text holds somewhere: alone it shows little."""
_NEARLY = 0.95
"""Share of a claim's content words that data must hold together to support a claim without specifics."""
_LONGEST = 1_000
"""Characters; a longer stretch is no single statement, and looking at it would cost more than it tells."""
_EVEN = 0.5
"""Where the probability itself must stand for a figure to decide about a claim in prose."""


@dataclass(frozen=True)
class _Finding:
    """Everything that was measured about one claim."""

    draft: DraftClaim
    checks: tuple[Check, ...]
    alignment: Alignment
    deed: Deed | None
    category: Category | None
    probability: float
    language: str
    comparable: bool
    """Whether claim and evidence are prose in one language, so that shared words mean something."""

    def outcome(self, *outcomes: str) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome in outcomes)


def judge_claim(draft: DraftClaim, bench: Bench, *, language: str) -> Claim:
    """Label one claim, or leave it undecided with the reason.

    `language` is the answer's. The probability is that of being hallucinated, whatever the label.
    """
    if len(draft.text) > _LONGEST:
        return Claim(text=draft.text, start=draft.start, end=draft.end, reason="undecided", probability=_EVEN)
    finding = _measure(draft, bench, language)
    for rule in (
        _contradicted,
        _undone,
        _otherwise,
        _misplaced,
        _misnamed,
        _missing,
        _found,
        _done,
        _agrees,
        _named,
        _aligned,
    ):
        claim = rule(finding, bench)
        if claim is not None:
            return claim
    return _undecided(finding)


def _measure(draft: DraftClaim, bench: Bench, language: str) -> _Finding:
    checks = run_checks(draft.text, bench.index, language=language)
    alignment = align(draft.text, bench.windows, checks)
    done = deed(draft.text, bench.view)
    return _Finding(
        draft=draft,
        checks=checks,
        alignment=alignment,
        deed=done,
        category=category(draft.text, bench.leaves, with_states=done is None),
        probability=bench.combination.probability(vector(alignment)),
        language=language,
        comparable=bool(bench.windows.usable)
        and not bench.has_data
        and guess(draft.text, bench.language) == bench.language,
    )


def _contradicted(finding: _Finding, bench: Bench) -> Claim | None:
    wrong = next(iter(finding.outcome("contradicted")), None)
    if wrong is None:
        return None
    where = f" in {wrong.block}" if wrong.block else ""
    reason = f"{wrong.check} {wrong.text!r} disagrees with {wrong.quote or 'another value'!r}{where}"
    return _hallucinated(finding, "contradiction", reason, 0.9, evidence=cite_check(bench, wrong))


def _undone(finding: _Finding, bench: Bench) -> Claim | None:  # noqa: ARG001 - all rules are called alike
    match finding.deed:
        case Deed(outcome="failed", shown=Shown() as shown):
            reason = f"the deed is reported as done, but {shown.block.name} failed"
            evidence = cite(shown, first_line(shown.text))
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
    return _hallucinated(finding, "contradiction", reason, 0.88, evidence=cite_leaf(said.leaf))


def _misplaced(finding: _Finding, bench: Bench) -> Claim | None:
    found = misplaced(finding.checks, bench.leaves)
    if found is None:
        return None
    check, leaf = found
    reason = f"{check.text!r} belongs to another record; this one has {leaf.quote}"
    return _hallucinated(finding, "contradiction", reason, 0.8, evidence=cite_leaf(leaf))


def _misnamed(finding: _Finding, bench: Bench) -> Claim | None:
    found = misnamed(finding.checks, finding.draft.text, bench.leaves)
    if found is None or bench.cut:
        return None
    check, leaf = found
    reason = f"{check.text!r} is not in the evidence; the record with these values is called {leaf.text!r}"
    return _hallucinated(finding, "contradiction", reason, 0.8, evidence=cite_leaf(leaf))


def _missing(finding: _Finding, bench: Bench) -> Claim | None:
    absent = [
        check
        for check in finding.outcome("not_found")
        if check.check in _SPECIFIC and check.text.casefold() not in bench.member_words
    ]
    if not absent:
        return None
    added = [total_of(check, finding.draft.text, bench.leaves) for check in absent]
    if all(added) and added[0]:
        reason = f"{absent[0].text!r} is the sum of {len(added[0])} amounts in the evidence"
        return _supported(finding, reason, 0.2, cite_leaf(added[0][0]))
    if bench.cut or (bench.view.media and not bench.windows.usable):  # it may stand in what was not looked at
        return _undecided(finding)
    if finding.comparable and finding.probability < _EVEN:
        return _undecided(finding)
    names = ", ".join(f"{check.check} {check.text!r}" for check in absent[:3])
    kind = "fabricated_reference" if any(check.check in _FABRICATED for check in absent) else "unsupported_addition"
    return _hallucinated(finding, kind, f"{names} not found in the evidence", 0.8)


def _found(finding: _Finding, bench: Bench) -> Claim | None:
    if finding.deed is not None and finding.deed.outcome == "open":
        return _undecided(finding)
    checks = finding.checks
    if finding.deed is not None:
        checks = run_checks(finding.draft.text, bench.tools, language=finding.language)
        shown = {check.start for check in checks if check.outcome in {"found", "derived"}}
        if any(check.start not in shown for check in finding.outcome("found", "derived") if check.check in _SPECIFIC):
            return _undecided(finding)  # the user may have asked for it; no tool says that it was done
    held = [check for check in checks if check.outcome in {"found", "derived"} and check.check in _SPECIFIC]
    citations = [cited for check in held if (cited := _telling(check, finding, bench)) is not None]
    if not citations:
        return _undecided(finding) if held and finding.deed is not None else None
    if finding.comparable and finding.probability >= _EVEN:
        return None if finding.probability >= bench.combination.high else _undecided(finding)
    if any(_reversed(check, finding.draft.text) for check in held):
        return _undecided(finding)
    if bench.has_data and any(check.check == "name" and " " in check.text for check in finding.outcome("not_found")):
        return _undecided(finding)  # the figures are there, but who they are said of isn't
    citations.sort(key=lambda cited: not cited.block.startswith("E"))
    derived = next((check for check in held if check.outcome == "derived"), None)
    names = ", ".join(dict.fromkeys(check.text for check in held[:4]))
    reason = (
        f"{derived.text!r} follows by arithmetic from the evidence" if derived else f"{names} found in the evidence"
    )
    return _supported(finding, reason, 0.15, citations[0])


def _telling(check: Check, finding: _Finding, bench: Bench) -> Citation | None:
    """The citation of a found item that shows something.

    A small number in prose shows nothing, nor does a sum of numbers that prose mentions; a small number in data shows
    something where its member is spoken of, or where the claim is in another language than the member names.
    """
    shown = bench.view.find(check.block) if check.block else None
    is_small = check.check == "number" and _SMALL.fullmatch(check.text.strip("*_ ")) is not None
    if check.check == "number" and (is_small or not check.path) and check.outcome == "found":
        leaf = member_of(check, finding.draft.text, bench.leaves)
        if leaf is not None:
            return cite_leaf(leaf)
    if check.path is None and (
        is_small or (check.outcome == "derived" and (shown is None or shown.block.kind != "tool"))
    ):
        return None
    if is_small and finding.deed is not None:
        return None
    return cite_check(bench, check)


_CHARGED = re.compile(r"(?i)\b(?:charged|additional|extra|paid|pay|cost)\b")
_REFUNDED = re.compile(
    r"(?i)\b(?:refund\w*|credited|back|sav\w+|return\w*|discount\w*|differ\w*|less|lower|"
    r"decreas\w*)\b"
)


def _reversed(check: Check, claim: str) -> bool:
    """Whether a claim speaks of a charge where the evidence has the amount with a minus: a refund, or a debit."""
    negative = (check.quote or "").startswith("-") and not check.text.startswith(("-", "−"))
    return negative and bool(_CHARGED.search(claim)) and not _REFUNDED.search(claim)


def _done(finding: _Finding, bench: Bench) -> Claim | None:  # noqa: ARG001 - all rules are called alike
    match finding.deed:
        case Deed(outcome="done", shown=Shown() as shown):
            evidence = cite(shown, first_line(shown.text))
            return _supported(finding, f"{shown.block.name} ran and did not fail", 0.25, evidence)
        case Deed(outcome="open"):
            return _undecided(finding)
    return None


def _agrees(finding: _Finding, bench: Bench) -> Claim | None:  # noqa: ARG001 - all rules are called alike
    said = finding.category
    if said is None:
        return None
    return _supported(finding, f"{said.said!r} agrees with {said.leaf.quote}", 0.15, cite_leaf(said.leaf))


def _named(finding: _Finding, bench: Bench) -> Claim | None:
    leaf = named(finding.checks, finding.draft.text, bench.leaves)
    if leaf is None or finding.comparable or negated(finding.draft.text):
        return None
    return _supported(finding, f"{leaf.text!r} agrees with {leaf.quote}", 0.25, cite_leaf(leaf))


def _aligned(finding: _Finding, bench: Bench) -> Claim | None:
    alignment = finding.alignment
    if alignment.best is None or not alignment.content:
        return None
    if finding.comparable and finding.probability >= bench.combination.high and not bench.cut and bench.reads:
        reason = "most of its words are nowhere in the evidence"
        return _hallucinated(finding, "unsupported_addition", reason, finding.probability)
    same_language = guess(finding.draft.text, bench.language) == bench.language
    by_wording = not alignment.best.data and same_language and finding.probability <= bench.combination.low
    together = alignment.coverage >= _NEARLY and len(alignment.content) >= 2 and not negated(finding.draft.text)
    if by_wording or together:
        evidence = cite_words(bench, alignment)
        if evidence is not None and evidence.verified and not _is_wish(evidence):
            return _supported(finding, f"its words stand in {evidence.block}", 0.3, evidence)
    return None


_WISH = re.compile(
    r"(?i)[?？]\s*$|\b(?:please|make sure|i(?:['’]d| would) (?:like|prefer|love)|i (?:want|need|wish|hope)|can "
    r"you|could you|would you|"
    r"bitte|möchte|por favor|quiero|quisiera|voudrais|veuillez)\b|请|希望"
)


def _is_wish(evidence: Citation) -> bool:
    """Whether a quote is what the user asked for: that it was said doesn't make it so."""
    return evidence.block.startswith("U") and _WISH.search(evidence.quote) is not None


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
