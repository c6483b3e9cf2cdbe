"""The offline judge: free, deterministic, without a network; it compares words and values and says so."""

from collections.abc import Iterator, Sequence
from typing import Literal, Self

from groundwire.scorer.claims import Claim, DraftClaim
from groundwire.scorer.evidence import View
from groundwire.scorer.fact_check import read_request
from groundwire.scorer.judge import Capability, Failure, Faithfulness, JudgeVersion, Reply, UnsupportedSpan, Verdict
from groundwire.scorer.judges.bench import Bench
from groundwire.scorer.judges.combination import Combination
from groundwire.scorer.judges.dimensions import weigh_dimensions
from groundwire.scorer.judges.languages import guess
from groundwire.scorer.judges.phrases import INSTRUCTION
from groundwire.scorer.judges.segments import segments
from groundwire.scorer.judges.stretches import stretches, turned_round, unknown_names
from groundwire.scorer.judges.transcripts import view_of_transcript
from groundwire.scorer.judges.verdicts import LEXICAL, judge_claim
from groundwire.scorer.spend import Account

__all__ = ["OfflineJudge"]

_CAPABILITIES: frozenset[Capability] = frozenset(
    {"split", "label", "quotes", "faithfulness", "classify", "spans", "needs_facts"}
)
_DECIDED_SHARE = 0.5
"""Least share of the statements that must be decided for the SPAN path and for a classification."""
_LIKELY = 0.6
"""Probability that a name of several words is made up where the evidence has none of them, or that a negation is."""
_SpanType = Literal["contradiction", "unsupported_addition", "fabricated_reference"]
_SPAN_TYPES: dict[str, _SpanType] = {"contradiction": "contradiction", "fabricated_reference": "fabricated_reference"}


class OfflineJudge:
    """See `groundwire.scorer.judge.Judge`. Verdicts rest on shared words and values; the rest stays undecided."""

    def __init__(self, *, language: str = "en", combination: Combination | None = None) -> None:
        """`language` is read where a text doesn't show its own. `combination` replaces the shipped coefficients."""
        self._language = language
        self._combination = combination or Combination.shipped()

    @property
    def version(self) -> JudgeVersion:
        """The rules are part of the package: the model name changes when a verdict can."""
        return JudgeVersion(kind="offline", model="offline-1")

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Everything, quotes included."""
        return _CAPABILITIES

    def bound(self, account: Account) -> Self:  # noqa: ARG002 - it spends nothing, on nobody's account
        """Itself."""
        return self

    async def split(self, question: str, answer: str) -> Reply[tuple[DraftClaim, ...]]:  # noqa: ARG002 - the answer suffices
        """The statements of the answer in order, each with exact offsets and its kind."""
        flags = frozenset({"injection_suspected"}) if INSTRUCTION.search(answer) else frozenset[str]()
        return Reply(value=segments(answer, language=guess(answer, self._language)), flags=flags)

    async def label(self, question: str, claims: Sequence[DraftClaim], evidence: View) -> Reply[tuple[Claim, ...]]:  # noqa: ARG002 - as above
        """A label, quote, checks and probability for each claim; no label (`undecided`) where nothing decides."""
        flags = frozenset({"injection_suspected"}) if _instructed(evidence) else frozenset[str]()
        return Reply(value=self._label(claims, evidence)[0], flags=flags)

    async def faithfulness(self, question: str, answer: str, evidence: View) -> Reply[Faithfulness]:
        """The four dimensions; unknown (`undecided`) where less than half of the statements could be decided."""
        claims, bench = self._label(self._facts(answer), evidence)
        if _undecided(claims):
            return Reply(failure=_UNDECIDED)
        return Reply(value=weigh_dimensions(question, answer, claims, bench))

    async def classify(self, transcript: str, output: str) -> Reply[Verdict]:
        """Hallucinated where a statement is; grounded where at least half are supported and none is."""
        view = view_of_transcript(transcript)
        claims, _ = self._label(self._facts(output), view)
        if not any(shown.block.kind != "user" and shown.text for shown in view.shown):
            claims = tuple(map(_no_source, claims))
        wrong = [claim for claim in claims if claim.label == "hallucinated"]
        probability = max((claim.probability or 0.0 for claim in claims), default=0.0)
        if wrong:
            worst = max(wrong, key=lambda claim: claim.probability or 0.0)
            return Reply(
                value=Verdict(label="hallucinated", explanation=worst.reason, claims=claims, probability=probability)
            )
        if _undecided(claims):
            return Reply(failure=_UNDECIDED)
        found = "every decided statement is in the record" if claims else "it states nothing that could be checked"
        return Reply(
            value=Verdict(
                label="grounded", explanation=f"Lexical check: {found}.", claims=claims, probability=probability
            )
        )

    async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:  # noqa: ARG002 - as above
        """What is wrong in the hallucinated statements; unknown where none is and most are undecided."""
        claims, bench = self._label(self._facts(answer), evidence)
        found = tuple(span for claim in claims for span in _spans_of(claim, bench))
        if not found and _undecided(claims):
            return Reply(failure=_UNDECIDED)
        return Reply(value=found)

    async def needs_facts(self, request: str) -> Reply[bool]:
        """Whether the request asks for facts, by its words; unknown where they don't tell."""
        kind = read_request(request)
        return Reply(failure=_UNDECIDED) if kind is None else Reply(value=kind == "question")

    async def close(self) -> None:
        """Nothing is held."""

    def _facts(self, answer: str) -> tuple[DraftClaim, ...]:
        drafts = segments(answer, language=guess(answer, self._language))
        return tuple(draft for draft in drafts if draft.kind == "fact")

    def _label(self, claims: Sequence[DraftClaim], evidence: View) -> tuple[tuple[Claim, ...], Bench]:
        bench = Bench.of(evidence, self._language, self._combination)
        language = guess(" ".join(claim.text for claim in claims), self._language)
        return tuple(judge_claim(claim, bench, language=language) for claim in claims), bench


def _spans_of(claim: Claim, bench: Bench) -> Iterator[UnsupportedSpan]:
    """The wrong words of a statement where it stands in the answer."""
    if claim.start is None:
        return
    if claim.label == "hallucinated":
        places, kind, sure, why = stretches(claim, bench), claim.type, claim.probability or 0.0, claim.reason
    elif bench.reads and not bench.cut:
        sure = _LIKELY
        if places := turned_round(claim, bench):
            kind, why = "contradiction", f"{LEXICAL}: the evidence says it without the negation"
        else:
            places, kind = unknown_names(claim, bench), None
            why = f"{LEXICAL}: no word of this name is in the evidence"
    else:
        return
    for start, end in places:
        yield UnsupportedSpan(
            text=claim.text[start:end],
            start=claim.start + start,
            end=claim.start + end,
            probability=sure,
            type=_SPAN_TYPES.get(kind or "", "unsupported_addition"),
            reason=why,
            evidence=claim.evidence if claim.label == "hallucinated" else None,
        )


_UNDECIDED = Failure(status="unknown", reason="undecided", message="the lexical check could not decide most statements")


def _undecided(claims: Sequence[Claim]) -> bool:
    """Whether most of the claims have no label; never of none."""
    return sum(claim.label is not None for claim in claims) < _DECIDED_SHARE * len(claims)


def _no_source(claim: Claim) -> Claim:
    """The claim where nothing but users' words could hold it: what they don't say may be general knowledge."""
    if claim.label != "hallucinated" or claim.type in ("contradiction", "false_success"):
        return claim
    return claim.model_copy(update={"label": None, "type": None, "reason": "undecided"})


def _instructed(evidence: View) -> bool:
    return any(shown.block.kind != "provided" and INSTRUCTION.search(shown.text) for shown in evidence.shown)
