"""A judge that says what a test tells it to; it keeps what it was asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from groundwire.scorer.claims import Claim, DraftClaim, locate
from groundwire.scorer.evidence import View
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
from groundwire.scorer.spend import Account, Usage

ALL: frozenset[Capability] = frozenset({"split", "label", "quotes", "faithfulness", "classify", "spans", "needs_facts"})


@dataclass
class ScriptedJudge:
    """A fake: splits at full stops and labels by the words in `labels`."""

    labels: Mapping[str, str | None] = field(default_factory=dict)
    """Label by a word of the claim; a claim with none of the words is supported."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    dimensions: Dimensions | None = None
    fail: Mapping[str, Failure] = field(default_factory=dict)
    """Failure by question (`split`, `label`, `faithfulness`)."""
    found: tuple[UnsupportedSpan, ...] = ()
    """What it answers to `spans`."""
    verdict: Verdict | None = None
    """What it answers to `classify`."""
    facts: bool | None = None
    """What it answers to `needs_facts`."""
    transcripts: list[str] = field(default_factory=list)
    """What it was asked to classify against."""
    usage: Usage = field(default_factory=lambda: Usage(calls=1, input_tokens=10, output_tokens=5, micro_dollars=7))
    capabilities: frozenset[Capability] = ALL
    asked: list[tuple[str, View | None]] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)

    @property
    def version(self) -> JudgeVersion:
        return JudgeVersion(kind="llm", model="scripted")

    def bound(self, account: Account) -> Self:
        self.accounts.append(account)
        return self

    async def split(self, question: str, answer: str) -> Reply[tuple[DraftClaim, ...]]:
        self.asked.append(("split", None))
        if "split" in self.fail:
            return Reply(failure=self.fail["split"], usage=self.usage)
        pieces = [piece.strip() + "." for piece in answer.split(".") if piece.strip()]
        found = []
        for draft in locate(pieces, answer):
            kind = next((kind for word, kind in self.kinds.items() if word in draft.text), "fact")
            found.append(DraftClaim(text=draft.text, start=draft.start, end=draft.end, kind=kind))  # type: ignore[arg-type]
        return Reply(value=tuple(found), usage=self.usage)

    async def label(self, question: str, claims: Sequence[DraftClaim], evidence: View) -> Reply[tuple[Claim, ...]]:
        self.asked.append(("label", evidence))
        if "label" in self.fail:
            return Reply(failure=self.fail["label"], usage=self.usage)
        out = []
        for claim in claims:
            label = next((label for word, label in self.labels.items() if word in claim.text), "supported")
            reason = "undecided" if label is None else ""
            out.append(Claim(text=claim.text, start=claim.start, end=claim.end, label=label, reason=reason))  # type: ignore[arg-type]
        return Reply(value=tuple(out), usage=self.usage)

    async def faithfulness(self, question: str, answer: str, evidence: View) -> Reply[Faithfulness]:
        self.asked.append(("faithfulness", evidence))
        if "faithfulness" in self.fail:
            return Reply(failure=self.fail["faithfulness"], usage=self.usage)
        assert self.dimensions is not None
        return Reply(value=Faithfulness(dimensions=self.dimensions), usage=self.usage)

    async def classify(self, transcript: str, output: str) -> Reply[Verdict]:
        self.asked.append(("classify", None))
        self.transcripts.append(transcript)
        if "classify" in self.fail:
            return Reply(failure=self.fail["classify"], usage=self.usage)
        assert self.verdict is not None
        return Reply(value=self.verdict, usage=self.usage)

    async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:
        self.asked.append(("spans", evidence))
        if "spans" in self.fail:
            return Reply(failure=self.fail["spans"], usage=self.usage)
        return Reply(value=self.found, usage=self.usage)

    async def needs_facts(self, request: str) -> Reply[bool]:
        self.asked.append(("needs_facts", None))
        if "needs_facts" in self.fail:
            return Reply(failure=self.fail["needs_facts"], usage=self.usage)
        assert self.facts is not None
        return Reply(value=self.facts, usage=self.usage)

    async def close(self) -> None:
        """Nothing is held."""
