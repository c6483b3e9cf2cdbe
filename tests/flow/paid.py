"""A judge that costs money: it holds, calls, settles and remembers as the real ones do; the bill is kept in a file."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from tests.scorer.scripted import ScriptedJudge

from groundwire.jobs.cache import StoredCache
from groundwire.scorer import Account, Claim, DraftClaim, Failure, Ledger, Reply, Usage, View, locate

PRICE = 1_000
"""Micro-dollars of every call of this fake."""


@dataclass
class PaidJudge(ScriptedJudge):
    """A fake: like `ScriptedJudge`, but each question is a paid call through a ledger and a cache."""

    ledger: Ledger | None = None
    cache: StoredCache | None = None
    bill: Path | None = None
    """Where the fake provider notes every call it was paid for, a line each."""
    account: Account = field(default_factory=Account)

    def bound(self, account: Account) -> Self:
        return replace(self, account=account)

    async def split(self, question: str, answer: str) -> Reply[tuple[DraftClaim, ...]]:
        usage, failure, text = await self._call("split", answer, lambda: json.dumps(_sentences(answer)))
        if failure is not None:
            return Reply(failure=failure, usage=usage)
        return Reply(value=locate(json.loads(text), answer), usage=usage)

    async def label(self, question: str, claims: Sequence[DraftClaim], evidence: View) -> Reply[tuple[Claim, ...]]:
        texts = [claim.text for claim in claims]
        labels = [next((label for word, label in self.labels.items() if word in text), "supported") for text in texts]
        shown = [item.text for item in evidence.shown]
        usage, failure, text = await self._call("label", json.dumps([texts, shown]), lambda: json.dumps(labels))
        if failure is not None:
            return Reply(failure=failure, usage=usage)
        found = zip(claims, json.loads(text), strict=True)
        return Reply(
            value=tuple(Claim(text=c.text, start=c.start, end=c.end, label=label) for c, label in found), usage=usage
        )

    async def _call(self, question: str, prompt: str, answer: object) -> tuple[Usage, Failure | None, str]:
        assert self.ledger is not None
        assert self.cache is not None
        assert self.bill is not None
        assert callable(answer)
        key = hashlib.sha256(f"{question}:{prompt}".encode()).hexdigest()
        if (known := await self.cache.get(key)) is not None:
            return Usage(cache_hits=1), None, known
        reservation = await self.ledger.reserve(self.account, PRICE)
        if reservation is None:
            return Usage(), Failure(status="skipped", reason="over_budget"), ""
        with self.bill.open("a") as bill:
            bill.write(f"{key}\n")
        reply = str(answer())
        usage = Usage(calls=1, input_tokens=1, micro_dollars=PRICE)
        await self.ledger.settle(reservation, usage, {key: reply})
        return usage, None, reply


def _sentences(answer: str) -> list[str]:
    return [piece.strip() + "." for piece in answer.split(".") if piece.strip()]
