"""The citation verifier: each claim of a draft against the passages it cites, in code first, then by a judge."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.claims import Check, DraftClaim, Label, find_quote
from groundwire.scorer.errors import ConfigError, GroundwireError
from groundwire.scorer.evidence import Block, Limits, Shown, View
from groundwire.scorer.judge import Judge, Reply
from groundwire.scorer.judges.languages import guess
from groundwire.scorer.selection import select
from groundwire.scorer.spend import Account, Usage
from groundwire.scorer.verification.draft import Draft, read_draft, read_sources
from groundwire.scorer.verification.passages import CitedClaim, CitedPassage

__all__ = ["CheckedPassage", "Retry", "Verification", "VerifiedClaim", "WayOut", "resolve", "verify"]

WayOut = Literal["kept", "dropped", "escalated"]
"""`kept`: every check passed. `dropped`: one failed. `escalated`: a person must decide."""
Reason = Literal[
    "unknown_source",
    "no_quote",
    "quote_not_found",
    "numbers_not_in_quote",
    "not_supported",
    "inferred",
    "undecided",
    "judge_failed",
]
_PHRASES: Mapping[Reason, str] = {
    "unknown_source": "unknown source",
    "no_quote": "no quote given",
    "quote_not_found": "quote not found in source",
    "numbers_not_in_quote": "not in the quote",
    "not_supported": "the quote does not support the claim",
    "inferred": "follows from the quote, which does not say it",
    "undecided": "the judge could not tell",
    "judge_failed": "the judge gave no answer",
}
_VALUES = frozenset({"number", "date", "unit", "identifier"})
"""The checks whose items must stand in the quote; names and wording are the judge's business."""
_LIMITS = Limits(response=8_000, total=16_000, given=16_000)
"""What a judge is shown of the passages of one claim: quotes are short, a source cited as a whole may not be."""


class CheckedPassage(BaseModel):
    """A cited passage, looked up."""

    model_config = ConfigDict(frozen=True)

    source: str
    quote: str | None
    """None where the draft cites the source as a whole."""
    start: int | None = None
    """Where the quote stands in the source, in characters; None where it doesn't."""
    end: int | None = None
    exact: bool | None = None
    """False where the quote was found only after white space, quotation marks, dashes and case were made alike."""
    moved: bool = False
    """True where the quote stands in the source, but not at the offsets that the citation gives."""


class VerifiedClaim(BaseModel):
    """What became of one claim."""

    model_config = ConfigDict(frozen=True)

    claim: str
    outcome: WayOut
    reason: Reason | None = None
    """None for a claim that is kept."""
    explanation: str = ""
    """The reason in words; of a judge's, its own."""
    passages: tuple[CheckedPassage, ...]
    checks: tuple[Check, ...] = ()
    """What the code checks found about the claim's numbers, dates, quantities and codes, in the quotes."""
    label: Label | None = None
    """The judge's; None where none was asked or it could not tell."""
    retried: bool = False
    """True where this is the claim that the retry hook gave in place of one that failed."""


class Verification(BaseModel):
    """What became of a draft; the claims stand in the draft's order."""

    model_config = ConfigDict(frozen=True)

    claims: tuple[VerifiedClaim, ...]
    uncited: tuple[str, ...] = ()
    """Passages of an API's answer that cite nothing and were not verified."""
    judge: Mapping[str, JsonValue] | None = None
    """The judge's version; None where none was asked."""
    usage: Usage = Usage()

    @property
    def kept(self) -> tuple[VerifiedClaim, ...]:
        """The claims that passed."""
        return self.where("kept")

    @property
    def dropped(self) -> tuple[VerifiedClaim, ...]:
        """The claims that failed."""
        return self.where("dropped")

    @property
    def escalated(self) -> tuple[VerifiedClaim, ...]:
        """The claims that a person must decide."""
        return self.where("escalated")

    def where(self, outcome: WayOut) -> tuple[VerifiedClaim, ...]:
        """The claims with that outcome."""
        return tuple(claim for claim in self.claims if claim.outcome == outcome)


Redraft = Mapping[str, Any] | CitedClaim | None
"""`{claim, quote, source}` to verify in place of a claim that failed; None gives it up."""
Retry = Callable[[VerifiedClaim], Redraft | Awaitable[Redraft]]
"""Asked once for each claim that failed, for another draft of it; sync or async."""


def verify(draft: Draft | Sequence[Any] | Mapping[str, Any], sources: Mapping[str, str]) -> Verification:
    """Check the citations of a draft in code: free, exact, without a judge.

    A claim is dropped where its source is unknown, where its quote isn't in the source (exact, then normalised), and
    where a number, date, quantity or code of it isn't in the quote. `draft` is what `read_draft` takes, `sources` texts
    by id. Raises `ConfigError` for a draft or sources of another form.
    """
    texts = read_sources(sources)
    known = draft if isinstance(draft, Draft) else read_draft(draft, texts)
    return Verification(claims=tuple(_verify(claim, texts) for claim in known.claims), uncited=known.uncited)


async def resolve(
    verification: Verification,
    sources: Mapping[str, str],
    *,
    judge: Judge | None = None,
    retry: Retry | None = None,
    escalate: bool = False,
    account: Account | None = None,
) -> Verification:
    """Take a verification the rest of the way.

    With a judge, each claim that is kept is put to it: `supported` stays, `hallucinated` and `model_knowledge` are
    dropped, and a person gets what is only inferred or undecided. With a `retry` hook, each dropped claim gets one more
    draft, which passes the same checks. What is dropped then is escalated instead where `escalate` is set. Raises
    `ConfigError` where the judge can't label, `GiveUp` where it is lost for every claim.
    """
    if judge is not None and "label" not in judge.capabilities:
        raise ConfigError(f"the {judge.version.kind} judge can't label claims; choose another judge")
    texts = read_sources(sources)
    bound = judge.bound(account or Account()) if judge is not None else None
    way = _Way(sources=texts, judge=bound, retry=retry, escalate=escalate)
    results = await asyncio.gather(*(way.walk(claim) for claim in verification.claims))
    usage = verification.usage
    for _, used in results:
        usage = usage + used
    version = judge.version.model_dump(mode="json") if judge is not None else verification.judge
    return verification.model_copy(
        update={"claims": tuple(claim for claim, _ in results), "usage": usage, "judge": version}
    )


@dataclass(frozen=True, kw_only=True)
class _Way:
    """The way of one claim through judge, retry and escalation."""

    sources: Mapping[str, str]
    judge: Judge | None
    retry: Retry | None
    escalate: bool

    async def walk(self, claim: VerifiedClaim) -> tuple[VerifiedClaim, Usage]:
        claim, usage = await self._judged(claim)
        if claim.outcome == "dropped" and self.retry is not None:
            claim, more = await self._retried(claim, self.retry)
            usage = usage + more
        if claim.outcome == "dropped" and self.escalate:
            claim = claim.model_copy(update={"outcome": "escalated"})
        return claim, usage

    async def _retried(self, claim: VerifiedClaim, retry: Retry) -> tuple[VerifiedClaim, Usage]:
        try:
            redraft = retry(claim)
            if inspect.isawaitable(redraft):
                redraft = await redraft
            if redraft is None:
                return claim, Usage()
            if not isinstance(redraft, CitedClaim):
                redraft = read_draft([redraft], self.sources).claims[0]
        except GroundwireError:
            raise
        except Exception as error:  # noqa: BLE001 - the hook is the user's: its fault costs this claim its retry only
            note = f"{claim.explanation}; the retry hook failed ({type(error).__name__})"
            return claim.model_copy(update={"explanation": note}), Usage()
        again, usage = await self._judged(_verify(redraft, self.sources))
        return again.model_copy(update={"retried": True}), usage

    async def _judged(self, claim: VerifiedClaim) -> tuple[VerifiedClaim, Usage]:
        if self.judge is None or claim.outcome != "kept":
            return claim, Usage()
        reply = await self.judge.label("", [DraftClaim(text=claim.claim)], _view(claim, self.sources))
        return _with_label(claim, reply), reply.usage


def _with_label(claim: VerifiedClaim, reply: Reply[Any]) -> VerifiedClaim:
    if not reply.value:
        why = reply.failure.reason if reply.failure is not None else ""
        return _out(claim, "escalated", "judge_failed", why)
    found = reply.value[0]
    claim = claim.model_copy(update={"label": found.label})
    match found.label:
        case "supported":
            return claim
        case "inferred":
            return _out(claim, "escalated", "inferred", found.reason)
        case "hallucinated" | "model_knowledge":
            return _out(claim, "dropped", "not_supported", found.reason)
        case _:
            detail = found.reason if found.reason != "undecided" else ""
            return _out(claim, "escalated", "undecided", detail)


def _out(claim: VerifiedClaim, outcome: WayOut, reason: Reason, detail: str) -> VerifiedClaim:
    explanation = f"{_PHRASES[reason]}: {detail}" if detail else _PHRASES[reason]
    return claim.model_copy(update={"outcome": outcome, "reason": reason, "explanation": explanation})


def _verify(claim: CitedClaim, sources: Mapping[str, str]) -> VerifiedClaim:
    passages = tuple(_look_up(passage, sources) for passage in claim.passages)
    verified = VerifiedClaim(claim=claim.text, outcome="kept", passages=passages)
    for passage in passages:
        reason = _fault(passage, sources)
        if reason is not None:
            detail = passage.source if reason == "unknown_source" and len(passages) > 1 else ""
            return _out(verified, "dropped", reason, detail)
    index = EvidenceIndex.of(View(shown=tuple(_shown(verified, sources))), language=guess(claim.text))
    checks = tuple(
        check for check in run_checks(claim.text, index, language=guess(claim.text)) if check.check in _VALUES
    )
    verified = verified.model_copy(update={"checks": checks})
    missing = [check.text for check in checks if check.outcome in ("not_found", "contradicted")]
    if missing:
        explanation = f"{', '.join(missing)} {_PHRASES['numbers_not_in_quote']}"
        return verified.model_copy(
            update={"outcome": "dropped", "reason": "numbers_not_in_quote", "explanation": explanation}
        )
    return verified


def _look_up(passage: CitedPassage, sources: Mapping[str, str]) -> CheckedPassage:
    checked = CheckedPassage(source=passage.source, quote=passage.quote)
    text = sources.get(passage.source)
    if text is None or not passage.quote:
        return checked
    if passage.start is not None and text.startswith(passage.quote, passage.start):
        end = passage.start + len(passage.quote)
        return checked.model_copy(update={"start": passage.start, "end": end, "exact": True})
    found = find_quote(passage.quote, text, whole=True)
    if found is None:
        return checked
    moved = passage.start is not None and not found.start <= passage.start < found.end
    return checked.model_copy(
        update={"start": found.start, "end": found.end, "exact": found.exact, "moved": moved},
    )


def _fault(passage: CheckedPassage, sources: Mapping[str, str]) -> Reason | None:
    if passage.source not in sources:
        return "unknown_source"
    if passage.quote is None:
        return None
    if not passage.quote.strip():
        return "no_quote"
    return "quote_not_found" if passage.start is None else None


def _blocks(claim: VerifiedClaim, sources: Mapping[str, str]) -> list[Block]:
    """What the claim stands on: its quotes as the sources write them, or the whole sources."""
    return [
        Block(
            name=f"S{number}",
            kind="provided",
            text=sources[passage.source][passage.start : passage.end],
        )
        for number, passage in enumerate(claim.passages, start=1)
    ]


def _shown(claim: VerifiedClaim, sources: Mapping[str, str]) -> list[Shown]:
    return [Shown(block=block, text=block.text) for block in _blocks(claim, sources)]


def _view(claim: VerifiedClaim, sources: Mapping[str, str]) -> View:
    return select(_blocks(claim, sources), [claim.claim], _LIMITS)
