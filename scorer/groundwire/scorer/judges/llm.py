"""The `llm` judge: any language model behind an OpenAI-compatible endpoint."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from groundwire.scorer.claims import Claim, DraftClaim, locate
from groundwire.scorer.errors import ConfigError, GiveUp
from groundwire.scorer.evidence import View, cut
from groundwire.scorer.fence import Section, injections
from groundwire.scorer.judge import (
    Capability,
    Dimensions,
    Failure,
    Faithfulness,
    JudgeVersion,
    Reply,
    UnsupportedSpan,
    Verdict,
)
from groundwire.scorer.judges.asking import MARK_ROOM, MOST_SHRINKS, Asking, Tally, TooLong, fitted
from groundwire.scorer.judges.calls import Deadline
from groundwire.scorer.judges.config import LLMJudgeConfig
from groundwire.scorer.judges.forms import CLAIMS, FACTS, FAITHFULNESS, PROBE, SPANS, VERDICT
from groundwire.scorer.judges.labelling import Labelling
from groundwire.scorer.judges.pieces import moved, pieces_of, tail
from groundwire.scorer.judges.rendering import asked_section, render_view, section
from groundwire.scorer.prices import Price
from groundwire.scorer.redaction import Hidden, Redaction
from groundwire.scorer.spend import Account

__all__ = ["ANSWER_CHUNK", "LLMJudge", "answer_tokens", "version_of"]

T = TypeVar("T")

ANSWER_CHUNK = 12_000
"""Characters of an answer that one call splits into claims."""
LEAST_CHUNK = 500
"""Below this an answer that doesn't fit the model is given up."""
QUESTION_SHARE = 8
"""A question takes at most this part of a prompt, one in eight of its characters."""
VERDICT_TOKENS = 800
FACTS_TOKENS = 32
PROBE_TOKENS = 64
CAPABILITIES: frozenset[Capability] = frozenset(
    {"split", "label", "quotes", "faithfulness", "classify", "spans", "needs_facts"}
)


def answer_tokens(text: str) -> int:
    """Room in a reply that repeats an answer in pieces: more than its words take in any script, and the frame."""
    return 256 + len(text.encode("utf-8", "replace")) * 3 // 5


def version_of(config: LLMJudgeConfig, prompt_digest: str) -> JudgeVersion:
    """The identity of an `llm` judge: what was configured."""
    parameters: dict[str, Any] = {
        "endpoint": config.endpoint,
        "api": config.api,
        "temperature": config.temperature,
        "reasoning_effort": config.reasoning_effort,
        "max_output_tokens": config.max_output_tokens,
        "language": config.language,
        "redact": [kind if isinstance(kind, str) else kind.model_dump() for kind in config.redact],
    }
    if config.azure is not None:
        parameters["azure"] = config.azure.model_dump()
    return JudgeVersion(kind="llm", model=config.model, prompt_digest=prompt_digest, parameters=parameters)


@dataclass(kw_only=True)
class LLMJudge:
    """Splits, labels, scores and classifies by asking a language model.

    One judge is shared; `bound` gives the view of it that belongs to one partition: its account, its deadline
    (`partition_seconds` from its first call on) and its stand-ins for what is redacted.
    """

    config: LLMJudgeConfig
    asking: Asking
    version: JudgeVersion
    account: Account = field(default_factory=Account)
    redaction: Redaction = field(default_factory=Redaction)
    _until: float | None = None

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Everything."""
        return CAPABILITIES

    @property
    def price(self) -> Price | None:
        """What the model costs; None where it isn't known, and then no cap can be kept."""
        return self.asking.endpoint.calls.price

    def bound(self, account: Account) -> Self:
        """See `Judge.bound`."""
        return replace(self, account=account, redaction=Redaction(kinds=self.config.redact), _until=None)

    async def close(self) -> None:
        """Close the connections; the judge can be used again."""
        await self.asking.endpoint.close()

    async def split(self, question: str, answer: str) -> Reply[tuple[DraftClaim, ...]]:
        """See `Judge.split`. A long answer is split piece by piece."""
        tally = self._tally({"question": question, "answer": answer})
        asked = self._asked(question, tally)
        claims: list[DraftClaim] = []
        pieces = pieces_of(answer, 0, ANSWER_CHUNK)
        while pieces:
            start, piece = pieces.pop(0)
            try:
                found = await self._split(asked, piece, tally)
            except TooLong as error:
                if len(piece) <= LEAST_CHUNK:
                    return tally.reply(self._too_long(error))
                pieces = pieces_of(piece, start, len(piece) // 2) + pieces
                continue
            if isinstance(found, Failure):
                return tally.reply(found)
            claims += [moved(claim, start) for claim in found]
        return tally.reply(tuple(claims))

    async def _split(self, question: str, piece: str, tally: Tally) -> list[DraftClaim] | Failure:
        hidden = self.redaction.hide(piece)
        sections = [section("QUESTION", question, self.redaction), Section(name="ANSWER", text=hidden.text)]
        form = await self.asking.ask("claims", CLAIMS, sections, answer_tokens(piece), tally)
        self._count_redactions(tally)
        if isinstance(form, Failure):
            return form
        placed = [
            replace(self._restored(claim, hidden), kind=item.kind)
            for item, claim in zip(form.claims, locate([item.text for item in form.claims], hidden.text), strict=True)
        ]
        lost = sum(claim.start is None for claim in placed)
        if lost:
            tally.flags.add("claims_not_located")
            tally.count("claims_not_located", lost)
        return placed

    async def label(self, question: str, claims: Sequence[DraftClaim], evidence: View) -> Reply[tuple[Claim, ...]]:
        """See `Judge.label`. The quotes of supported and inferred claims have been looked up."""
        tally = self._tally({"question": question, "answer": "\n".join(claim.text for claim in claims)}, evidence)

        asked = self._asked(question, tally)

        async def ask(view: View) -> tuple[Claim, ...] | Failure:
            labelling = Labelling(asking=self.asking, redaction=self.redaction, question=asked, tally=tally)
            return await labelling.label(claims, view)

        return await self._fitted(evidence, ask, tally)

    async def faithfulness(self, question: str, answer: str, evidence: View) -> Reply[Faithfulness]:
        """See `Judge.faithfulness`."""
        tally = self._tally({"question": question, "answer": answer}, evidence)

        asked = self._asked(question, tally)

        async def ask(view: View) -> Faithfulness | Failure:
            sections, hidden = self._about(asked, answer, view)
            form = await self.asking.ask("faithfulness", FAITHFULNESS, sections, VERDICT_TOKENS, tally)
            if isinstance(form, Failure):
                return form
            places = locate([item.text for item in form.problems], hidden.text)
            claims = tuple(
                self._claim(claim, hidden, label="hallucinated", type=item.type, reason=item.reason)
                for item, claim in zip(form.problems, places, strict=True)
            )
            return Faithfulness(
                dimensions=Dimensions(
                    numeric=form.numeric,
                    categorical=form.categorical,
                    no_fabrication=form.no_fabrication,
                    completeness=form.completeness,
                ),
                claims=claims,
                explanation=self.redaction.show(form.explanation),
            )

        return await self._fitted(evidence, ask, tally)

    async def classify(self, transcript: str, output: str) -> Reply[Verdict]:
        """See `Judge.classify`. Of a transcript too long for the prompt or the model the oldest turns go first."""
        tally = self._tally({"transcript": transcript, "answer": output})
        shown, found = transcript, TooLong()
        for _ in range(MOST_SHRINKS):
            try:
                return tally.reply(await self._classify(shown, output, tally))
            except TooLong as error:
                found = error
                if not error.over:
                    tally.flags.add("context_too_small")
                if not shown or len(shown) <= error.over:
                    break  # without any record it would still be too long
                kept = len(shown) - error.over - MARK_ROOM if error.over else len(shown) // 2
                shown = tail(transcript, max(kept, 0))
                tally.flags.add("transcript_cut")
                tally.notes["transcript_cut"] = len(transcript) - max(kept, 0)
        return tally.reply(self._too_long(found))

    async def _classify(self, transcript: str, output: str, tally: Tally) -> Verdict | Failure:
        hidden = self.redaction.hide(output)
        sections = [section("RECORD", transcript, self.redaction), Section(name="RESPONSE", text=hidden.text)]
        form = await self.asking.ask("verdict", VERDICT, sections, VERDICT_TOKENS, tally)
        self._count_redactions(tally)
        if isinstance(form, Failure):
            return form
        places = locate([item.text for item in form.unsupported], hidden.text)
        claims = tuple(
            self._claim(claim, hidden, label="hallucinated", reason=item.reason)
            for item, claim in zip(form.unsupported, places, strict=True)
        )
        return Verdict(label=form.label, explanation=self.redaction.show(form.explanation), claims=claims)

    async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:
        """See `Judge.spans`. A stretch that doesn't stand in the answer is dropped and counted."""
        tally = self._tally({"question": question, "answer": answer}, evidence)

        asked = self._asked(question, tally)

        async def ask(view: View) -> tuple[UnsupportedSpan, ...] | Failure:
            sections, hidden = self._about(asked, answer, view)
            form = await self.asking.ask("spans", SPANS, sections, answer_tokens(answer), tally)
            if isinstance(form, Failure):
                return form
            found: list[UnsupportedSpan] = []
            places = locate([item.text for item in form.spans], hidden.text, overlapping=True)
            for item, place in zip(form.spans, places, strict=True):
                if place.start is None or place.end is None:
                    tally.flags.add("spans_dropped")
                    tally.count("spans_dropped", 1)
                    continue
                start, end = hidden.origin(place.start, place.end)
                found.append(
                    UnsupportedSpan(
                        text=answer[start:end],
                        start=start,
                        end=end,
                        probability=item.probability,
                        type=item.type,
                        reason=self.redaction.show(item.reason),
                    )
                )
            return tuple(sorted(found, key=lambda span: (span.start, span.end)))

        return await self._fitted(evidence, ask, tally)

    async def needs_facts(self, request: str) -> Reply[bool]:
        """See `Judge.needs_facts`. Of a long request the beginning is read."""
        tally = self._tally({"question": request})
        shown, gone = cut(request, min(ANSWER_CHUNK, self.asking.max_chars // 2))
        if gone:
            tally.flags.add("question_cut")
            tally.notes["question_cut"] = gone
        try:
            form = await self.asking.ask(
                "facts", FACTS, [section("REQUEST", shown, self.redaction)], FACTS_TOKENS, tally
            )
        except TooLong as error:
            return tally.reply(self._too_long(error))
        return tally.reply(form if isinstance(form, Failure) else form.needs_facts)

    async def probe(self) -> None:
        """One cheap call that learns what the endpoint takes. Raises `ConfigError` with a line that says what to mend.

        A cap that leaves no room for it is no reason: every judging call is refused by itself then.
        """
        tally = self._tally({})
        tally.deadline.patient = False
        try:
            form = await self.asking.ask("probe", PROBE, [Section(name="PROBE", text="ok")], PROBE_TOKENS, tally)
        except GiveUp as error:
            raise ConfigError(str(error)) from None
        except TooLong as error:
            form = self._too_long(error)
        if not isinstance(form, Failure) or form.status == "skipped":
            return
        if form.reason == "judge_unparsable":
            raise ConfigError(f"judge: {self.config.model} can't answer in JSON ({form.message}); choose another model")
        raise ConfigError(f"judge: {form.message or form.reason}; check base_url and model")

    async def _fitted(self, view: View, ask: Callable[[View], Awaitable[T | Failure]], tally: Tally) -> Reply[T]:
        reply = await fitted(view, ask, tally, self._too_long)
        self._count_redactions(tally)
        return replace(reply, notes=dict(tally.notes))

    def _asked(self, question: str, tally: Tally) -> str:
        """The question as far as a prompt has room for it; what is cut is said."""
        shown, gone = cut(question, self.asking.max_chars // QUESTION_SHARE)
        if gone:
            tally.flags.add("question_cut")
            tally.notes["question_cut"] = gone
        return shown

    def _about(self, question: str, answer: str, view: View) -> tuple[list[Section], Hidden]:
        rendered = render_view(view, self.redaction)
        asked = asked_section(question, rendered, self.redaction)
        hidden = self.redaction.hide(answer)
        return [*rendered.sections, *asked, Section(name="ANSWER", text=hidden.text)], hidden

    def _restored(self, claim: DraftClaim, hidden: Hidden) -> DraftClaim:
        """A claim placed in the redacted answer, placed in the answer itself."""
        if claim.start is None or claim.end is None:
            return replace(claim, text=self.redaction.show(claim.text))
        start, end = hidden.origin(claim.start, claim.end)
        return replace(claim, text=hidden.original[start:end], start=start, end=end)

    def _claim(self, claim: DraftClaim, hidden: Hidden, *, reason: str, **more: Any) -> Claim:
        place = self._restored(claim, hidden)
        return Claim(text=place.text, start=place.start, end=place.end, reason=self.redaction.show(reason), **more)

    def _tally(self, texts: Mapping[str, str], view: View | None = None) -> Tally:
        """A new tally, with what in these texts seems to address the judge."""
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + self.config.partition_seconds
        tally = Tally(account=self.account, deadline=Deadline(partition=self._until))
        shown = {block.block.name: f"{block.arguments}\n{block.text}" for block in view.shown} if view else {}
        found = injections({**texts, **shown})
        if found:
            tally.flags.add("injection_suspected")
            tally.notes["injection_suspected_in"] = list(found)
        return tally

    def _count_redactions(self, tally: Tally) -> None:
        if self.redaction.counts:
            tally.notes["redacted"] = dict(self.redaction.counts)

    def _too_long(self, error: TooLong) -> Failure:
        why = f"{self.config.model}'s context is too small for this text"
        if error.over:
            why = (
                f"even without evidence the prompt is longer than {self.asking.max_chars} characters (max_prompt_chars)"
            )
        return Failure(status="unknown", reason="low_coverage", message=why)
