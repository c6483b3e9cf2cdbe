"""The stretches of an answer that its evidence does not support: asked of a judge, located, merged and thresholded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.claims import Check, Citation, find_quote
from groundwire.scorer.errors import ConfigError
from groundwire.scorer.evidence import View
from groundwire.scorer.judge import Failure, Judge, Reply, UnsupportedSpan
from groundwire.scorer.judges.segments import segments
from groundwire.scorer.spend import Usage

__all__ = ["Spans", "find_spans", "located", "merged", "require_spans"]

LONGEST_CHECKED = 1_000
"""Most characters around a span that the code checks read: more is no statement, and costs seconds."""

Outcome = Literal["matched", "not_matched", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Spans:
    """What is unsupported in one answer."""

    outcome: Outcome
    """`matched`: at least one span is unsupported. `unknown` is never "verified"."""
    spans: tuple[UnsupportedSpan, ...] = ()
    """In the order of the answer, disjoint, each text verbatim from it; offsets in code points."""
    failure: Failure | None = None
    """Why it is unknown: `no_answer`, `no_evidence`, `judge_unparsable` where no span was found, or the judge's."""
    dropped: int = 0
    """Spans of the judge's whose words do not stand in the answer."""
    reply: Reply[tuple[UnsupportedSpan, ...]] = field(default_factory=Reply)
    """What the judge said, with its usage, flags and notes."""
    view: View = field(default_factory=View)
    """The evidence as the judge saw it."""

    @property
    def usage(self) -> Usage:
        """What asking cost."""
        return self.reply.usage

    @property
    def reason(self) -> str | None:
        """Why it is unknown, in a word."""
        return self.failure.reason if self.failure is not None else None


def require_spans(judge: Judge, asked_by: str) -> None:
    """Raise `ConfigError` (`span_required`) where the judge can't mark spans; `asked_by` names the rule or metric."""
    if "spans" not in judge.capabilities:
        raise ConfigError(
            f"{asked_by}: span_required: the {judge.version.kind} judge marks no spans; choose an llm or offline judge"
        )


async def find_spans(
    judge: Judge, *, request: str, answer: str, evidence: View, predicate: float | None = None
) -> Spans:
    """Which stretches of the answer the evidence doesn't support.

    `evidence` is the grounding context within its limits (`evidence.fit`): tool results and retrieved documents.
    `predicate` is the least probability of a span that matches, in [0, 1]; unset, the judge's own decision counts.
    The judge spends on the account that it is bound to. Raises `ConfigError` for a judge without spans, and what the
    judge raises (`GiveUp`, `RetryLater`).
    """
    require_spans(judge, "unsupported_spans")
    if not answer.strip():
        return Spans(outcome="unknown", failure=Failure(status="unknown", reason="no_answer"), view=evidence)
    if not any(shown.text.strip() for shown in evidence.shown):
        return Spans(outcome="unknown", failure=Failure(status="unknown", reason="no_evidence"), view=evidence)
    reply = await judge.spans(request, answer, evidence)
    said = Spans(outcome="unknown", reply=reply, view=reply.view or evidence)
    if reply.value is None:
        return replace(said, failure=reply.failure or Failure(status="error", reason="judge_gave_nothing"))
    found = located(reply.value, answer)
    matching = [span for span in found if predicate is None or span.probability >= predicate]
    known = reply.notes.get("spans_dropped", 0)
    dropped = len(reply.value) - len(found) + (known if isinstance(known, int) else 0)
    if dropped:
        reply = replace(reply, flags=reply.flags | {"spans_dropped"}, notes={**reply.notes, "spans_dropped": dropped})
    if dropped and not found:  # it found something, and nobody can say where: that is no clean answer
        lost = Failure(status="unknown", reason="judge_unparsable", message="none of its spans stands in the answer")
        return replace(said, failure=lost, dropped=dropped, reply=reply)
    return replace(
        said,
        outcome="matched" if matching else "not_matched",
        spans=_explained(merged(matching, answer), answer, said.view),
        dropped=dropped,
        reply=reply,
    )


def located(spans: Iterable[UnsupportedSpan], answer: str) -> list[UnsupportedSpan]:
    """The spans whose words stand in the answer, placed there and in its order; the others are left out.

    A place that the judge gives counts where the answer has the span's words there.
    """
    found: list[UnsupportedSpan] = []
    for span in spans:
        start, end = span.start, span.end
        if not (0 <= start < end <= len(answer) and answer[start:end] == span.text):
            place = find_quote(span.text, answer)
            if place is None:
                continue
            start, end = place.start, place.end
        found.append(replace(span, text=answer[start:end], start=start, end=end))
    return sorted(found, key=lambda span: (span.start, span.end))


def merged(spans: Iterable[UnsupportedSpan], answer: str) -> list[UnsupportedSpan]:
    """Spans that overlap as one: it reaches over all of them and takes its type from the most probable.

    Spans that only touch stay two.
    """
    groups: list[list[UnsupportedSpan]] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if groups and span.start < max(other.end for other in groups[-1]):
            groups[-1].append(span)
        else:
            groups.append([span])
    return [_union(group, answer) for group in groups]


def _union(group: Sequence[UnsupportedSpan], answer: str) -> UnsupportedSpan:
    surest = max(group, key=lambda span: span.probability)
    start, end = min(span.start for span in group), max(span.end for span in group)
    reasons = dict.fromkeys(span.reason for span in group if span.reason)
    evidence = surest.evidence or next((span.evidence for span in group if span.evidence is not None), None)
    return replace(surest, text=answer[start:end], start=start, end=end, reason="; ".join(reasons), evidence=evidence)


def _explained(spans: Sequence[UnsupportedSpan], answer: str, view: View) -> tuple[UnsupportedSpan, ...]:
    """The spans with what code finds about them: the kind of thing that is wrong, and what the evidence has instead."""
    if not spans:
        return ()
    index = EvidenceIndex.of(view)  # what was shown: to index megabytes would take seconds
    statements = [(claim.start, claim.end) for claim in segments(answer) if claim.start is not None and claim.end]
    return tuple(_explain(span, answer, statements, index) for span in spans)


def _explain(
    span: UnsupportedSpan, answer: str, statements: Sequence[tuple[int, int]], index: EvidenceIndex
) -> UnsupportedSpan:
    """A span is checked as part of its statement: what a figure is said of decides what contradicts it."""
    around = [place for place in statements if place[0] < span.end and place[1] > span.start]
    begin, stop = min([span.start, *(at for at, _ in around)]), max([span.end, *(at for _, at in around)])
    wrong = [
        check
        for check in (run_checks(answer[begin:stop], index) if stop - begin <= LONGEST_CHECKED else ())
        if check.outcome in ("contradicted", "not_found")
        and begin + check.start < span.end
        and begin + check.end > span.start
    ]
    worst = next((check for check in wrong if check.outcome == "contradicted"), wrong[0] if wrong else None)
    if worst is None:
        return span
    return replace(span, subtype=span.subtype or worst.check, evidence=span.evidence or _cited(worst))


def _cited(check: Check) -> Citation | None:
    if check.outcome != "contradicted" or check.block is None or check.quote is None:
        return None
    return Citation(block=check.block, quote=check.quote, verified=True, path=check.path)
