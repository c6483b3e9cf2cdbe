"""Judges that see the same question in another dress: evidence in another order, claims in more words."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from groundwire.scorer import (
    Account,
    Capability,
    Claim,
    DraftClaim,
    Faithfulness,
    Judge,
    JudgeVersion,
    Reply,
    UnsupportedSpan,
    Verdict,
    View,
)

__all__ = ["LEAD", "TAIL", "TwinJudge", "padded", "shuffled"]

LEAD = "To be as clear and as thorough about this as can be, and in so many words: "
TAIL = " That is what there is to be said about it, and it is said here in full and in every detail that it has."
"""Words that state no fact: what is added to them is as true as it was."""


def shuffled(view: View, *, seed: int) -> View:
    """The view with the blocks of each kind in another order, each named by its new place; none keeps its own.

    A kind with one block stays as it is: a view without two blocks of a kind is returned unchanged.
    """
    shown = list(view.shown)
    for kind in ("tool", "user", "provided"):
        places = [index for index, one in enumerate(view.shown) if one.block.kind == kind]
        if len(places) < 2:
            continue
        generator = random.Random(f"{seed}:{[view.shown[place].text for place in places]}")
        moved = list(places)
        while any(old == new for old, new in zip(places, moved, strict=True)):
            generator.shuffle(moved)
        for place, old in zip(places, moved, strict=True):
            one = view.shown[old]
            shown[place] = replace(one, block=replace(one.block, name=view.shown[place].block.name))
    return replace(view, shown=tuple(shown))


def padded(text: str) -> str:
    """A statement in more words that say nothing more."""
    return f"{LEAD}{text}{TAIL}"


@dataclass(frozen=True, kw_only=True)
class TwinJudge:
    """A judge asked in another dress; with neither change it is the judge itself, spending as a backfill does."""

    judge: Judge
    shuffle: int | None = None
    """Seed of the order of evidence; None leaves it."""
    pad: bool = False
    evaluator: str = ""
    """On whose behalf it asks: never out of that evaluator's live windows."""

    @property
    def version(self) -> JudgeVersion:
        """The judge's own."""
        return self.judge.version

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The judge's own."""
        return self.judge.capabilities

    def bound(self, account: Account) -> Self:
        """See `Judge.bound`."""
        return replace(self, judge=self.judge.bound(replace(account, evaluator=self.evaluator, live=False)))

    def _seen(self, evidence: View) -> View:
        return evidence if self.shuffle is None else shuffled(evidence, seed=self.shuffle)

    def _said(self, text: str) -> str:
        return padded(text) if self.pad else text

    async def split(self, question: str, answer: str) -> Reply[tuple[DraftClaim, ...]]:
        """See `Judge.split`; the answer is split as it stands."""
        return await self.judge.split(question, answer)

    async def label(self, question: str, claims: Sequence[DraftClaim], evidence: View) -> Reply[tuple[Claim, ...]]:
        """See `Judge.label`."""
        said = [replace(claim, text=self._said(claim.text)) for claim in claims]
        return _without_view(await self.judge.label(question, said, self._seen(evidence)))

    async def faithfulness(self, question: str, answer: str, evidence: View) -> Reply[Faithfulness]:
        """See `Judge.faithfulness`."""
        return _without_view(await self.judge.faithfulness(question, self._said(answer), self._seen(evidence)))

    async def close(self) -> None:
        """Nothing of its own; the judge is closed by whoever opened it."""

    async def classify(self, transcript: str, output: str) -> Reply[Verdict]:
        """See `Judge.classify`; a transcript has one order."""
        return await self.judge.classify(transcript, self._said(output))

    async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:
        """See `Judge.spans`."""
        return _without_view(await self.judge.spans(question, self._said(answer), self._seen(evidence)))

    async def needs_facts(self, request: str) -> Reply[bool]:
        """See `Judge.needs_facts`."""
        return await self.judge.needs_facts(request)


def _without_view(reply: Reply[Any]) -> Reply[Any]:
    """What was shown has other names here than the metric knows."""
    return replace(reply, view=None)
