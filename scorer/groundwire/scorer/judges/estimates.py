"""What judging would take, told without a call: the number of calls, the most they can cost, what they likely will."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from groundwire.scorer.claims import DraftClaim
from groundwire.scorer.evidence import View
from groundwire.scorer.fence import Fence, Section
from groundwire.scorer.judge import Judge
from groundwire.scorer.judges.asking import Asking
from groundwire.scorer.judges.endpoint import bill_of
from groundwire.scorer.judges.forms import CLAIMS, FAITHFULNESS, LABELS, QUOTES, SPANS, VERDICT, Form
from groundwire.scorer.judges.labelling import (
    CLAIMS_PER_CALL,
    CLAIMS_SHARE,
    FRAME_TOKENS,
    LABEL_TOKENS,
    QUOTE_TOKENS,
)
from groundwire.scorer.judges.llm import ANSWER_CHUNK, VERDICT_TOKENS, LLMJudge, answer_tokens
from groundwire.scorer.judges.rendering import claims_section, render_view
from groundwire.scorer.judges.wire import Question
from groundwire.scorer.prompts import PromptName
from groundwire.scorer.redaction import Redaction
from groundwire.scorer.spend import Usage

__all__ = ["Estimate", "Path", "estimate"]

Path = Literal["trace", "span", "spans", "conversation"]

CLAIM_CHARACTERS = 90
"""Of an answer, to one claim: what the offline splitter makes of ordinary answers."""
LIKELY_LABEL_TOKENS = 70
LIKELY_VERDICT_TOKENS = 120
REASONING_TOKENS = 600
"""What a model that reasons likely spends before it writes."""
LIKELY_BYTES = 3.6
"""UTF-8 bytes of a token, in text of mixed languages and JSON."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The outlook for one partition, or for several added up."""

    calls: int = 0
    """Where nothing goes wrong."""
    worst_micro_dollars: int = 0
    """With every repair, longer reply and second question; attempts that are cut off come on top."""
    expected_micro_dollars: int = 0
    expected_input_tokens: int = 0
    expected_output_tokens: int = 0
    priced: bool = True
    """False where no price is known: the amounts then say nothing."""

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            calls=self.calls + other.calls,
            worst_micro_dollars=self.worst_micro_dollars + other.worst_micro_dollars,
            expected_micro_dollars=self.expected_micro_dollars + other.expected_micro_dollars,
            expected_input_tokens=self.expected_input_tokens + other.expected_input_tokens,
            expected_output_tokens=self.expected_output_tokens + other.expected_output_tokens,
            priced=self.priced and other.priced,
        )


def estimate(
    judge: Judge, path: Path, question: str, answer: str, evidence: View, *, recheck: bool = False
) -> Estimate:
    """The outlook for one partition judged on that path, before what the cache knows is taken off.

    On the conversation path `question` is the transcript. `recheck` allows for a second round of labels. Judges without
    a price of their own (the offline one) cost nothing and make no calls.
    """
    if not isinstance(judge, LLMJudge):
        return _of_decisions(judge, path, question, answer, evidence)
    outlook = _Outlook(judge=judge)
    redaction = Redaction()
    blocks = list(render_view(evidence, redaction).sections)
    about = [Section(name="QUESTION", text=question), Section(name="ANSWER", text=answer)]
    match path:
        case "trace":
            chunk = min(ANSWER_CHUNK, judge.asking.max_chars * 3 // 8)  # beside the question and the prompt's own text
            for start in range(0, max(len(answer), 1), chunk):
                piece = answer[start : start + chunk]
                sections = [about[0], Section(name="ANSWER", text=piece)]
                outlook.add("claims", CLAIMS, sections, answer_tokens(piece), len(piece.encode()) / LIKELY_BYTES * 1.5)
            _labels(outlook, answer, [*blocks, about[0]], rounds=2 if recheck else 1)
        case "span":
            outlook.add("faithfulness", FAITHFULNESS, [*blocks, *about], VERDICT_TOKENS, LIKELY_VERDICT_TOKENS)
        case "spans":
            outlook.add("spans", SPANS, [*blocks, *about], answer_tokens(answer), LIKELY_VERDICT_TOKENS)
        case "conversation":
            sections = [Section(name="RECORD", text=question), Section(name="RESPONSE", text=answer)]
            outlook.add("verdict", VERDICT, sections, VERDICT_TOKENS, LIKELY_VERDICT_TOKENS)
    return outlook.found


def _labels(outlook: "_Outlook", answer: str, shared: Sequence[Section], *, rounds: int) -> None:
    """The calls for labels: as many as the answer likely has claims; what is asked again is in the worst case only."""
    claims = max(len(answer) // CLAIM_CHARACTERS, 1)
    size = max(len(answer) // claims, 1)
    at_once = max(min(CLAIMS_PER_CALL, outlook.judge.asking.max_chars // CLAIMS_SHARE // (size + 4)), 1)
    for start in range(0, claims, at_once):
        named = [
            (f"C{index + 1}", DraftClaim(text=answer[index * size : (index + 1) * size]))
            for index in range(start, min(start + at_once, claims))
        ]
        sections = [*shared, claims_section(named, Redaction())]
        limit = FRAME_TOKENS + LABEL_TOKENS * len(named)
        outlook.add("labels", LABELS, sections, limit, LIKELY_LABEL_TOKENS * len(named))
        for _ in range(2 * rounds - 1):  # missing labels, and the same again for a recheck
            outlook.add("labels", LABELS, sections, limit, None)
        for _ in range(rounds):
            outlook.add("quotes", QUOTES, sections, FRAME_TOKENS + QUOTE_TOKENS * len(named), None)


@dataclass(kw_only=True)
class _Outlook:
    judge: LLMJudge
    found: Estimate = Estimate()

    def add(
        self, prompt: PromptName, form: Form[Any], sections: Sequence[Section], limit: int, likely: float | None
    ) -> None:
        """One question; `likely` is None for one that is asked in case of trouble only."""
        asking: Asking = self.judge.asking
        cap = self.judge.config.max_output_tokens
        room = asking.endpoint.dialect.room
        text = Fence().render(sections)
        system = asking.prompts[prompt]
        first = Question(system=system, turns=(("user", text),), form=form, limit=min(limit + room, cap))
        longest = Question(
            system=system,
            turns=(("user", text), ("assistant", "…" * 1_000), ("user", asking.prompts["repair"] + " " * 400)),
            form=form,
            limit=cap,
        )
        price = self.judge.price
        worst = expected = sent = written = 0
        if likely is not None:
            sent = int(first.size / LIKELY_BYTES)
            written = int(likely) + (REASONING_TOKENS if room else 0)
        if price is not None:
            worst = sum(
                price.worst(bill.input_tokens, bill.output_tokens)
                for bill in (bill_of(first), bill_of(longest), bill_of(longest))
            )
            if likely is not None:
                expected = price.cost(Usage(input_tokens=sent, output_tokens=written))
        self.found += Estimate(
            calls=int(likely is not None),
            worst_micro_dollars=worst,
            expected_micro_dollars=expected,
            expected_input_tokens=sent,
            expected_output_tokens=written,
            priced=price is not None,
        )


def _of_decisions(judge: Judge, path: Path, question: str, answer: str, evidence: View) -> Estimate:
    """A decision model takes one call; its state holds each text once."""
    from groundwire.scorer.judges.decisions import ANSWER_TOKENS
    from groundwire.scorer.judges.systemone import DIMENSIONS, LABEL_CRITERIA, DecisionJudge

    if not isinstance(judge, DecisionJudge) or path == "spans":
        return Estimate()
    questions = {"trace": max(len(answer) // CLAIM_CHARACTERS, 1), "span": len(DIMENSIONS), "conversation": 1}[path]
    criteria: Mapping[Any, str] = LABEL_CRITERIA
    frame = sum(len(text) for text in criteria.values()) + 200
    texts = [question, answer, *(shown.text for shown in evidence.shown)]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) + questions * frame
    price = judge.price
    if price is None:
        return Estimate(calls=1, priced=False)
    return Estimate(
        calls=1,
        worst_micro_dollars=price.worst(size + 200, ANSWER_TOKENS * questions),
        expected_micro_dollars=price.cost(Usage(input_tokens=int(size / LIKELY_BYTES), output_tokens=8 * questions)),
    )
