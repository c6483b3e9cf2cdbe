"""Much text judged in a thread of its own, so that the event loop of whoever waits goes on."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Self, TypeVar

from groundwire.scorer.claims import Claim, DraftClaim
from groundwire.scorer.evidence import View
from groundwire.scorer.judge import Capability, Faithfulness, Judge, JudgeVersion, Reply, UnsupportedSpan, Verdict
from groundwire.scorer.metrics.metric import Metric
from groundwire.scorer.partition import Partition
from groundwire.scorer.row import Row
from groundwire.scorer.spend import Account

__all__ = ["score_apart"]

T = TypeVar("T")


async def score_apart(metric: Metric, partition: Partition, account: Account) -> Row:
    """See `Metric.score`; reading and comparing happen in a thread, and a judge with connections answers here."""
    judge: Judge = metric.judge
    if judge.version.kind != "offline":
        judge = _Elsewhere(judge, asyncio.get_running_loop())
    own = metric.judged_by(judge)
    return await asyncio.to_thread(lambda: asyncio.run(own.score(partition, account=account)))


class _Elsewhere:
    """A judge that is asked in the loop where it lives; see `Judge`."""

    def __init__(self, judge: Judge, loop: asyncio.AbstractEventLoop) -> None:
        self._judge = judge
        self._loop = loop

    @property
    def version(self) -> JudgeVersion:
        return self._judge.version

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._judge.capabilities

    def bound(self, account: Account) -> Self:
        return type(self)(self._judge.bound(account), self._loop)

    async def split(self, question: str, answer: str) -> Reply[tuple[DraftClaim, ...]]:
        return await self._there(self._judge.split(question, answer))

    async def label(self, question: str, claims: Sequence[DraftClaim], evidence: View) -> Reply[tuple[Claim, ...]]:
        return await self._there(self._judge.label(question, claims, evidence))

    async def faithfulness(self, question: str, answer: str, evidence: View) -> Reply[Faithfulness]:
        return await self._there(self._judge.faithfulness(question, answer, evidence))

    async def classify(self, transcript: str, output: str) -> Reply[Verdict]:
        return await self._there(self._judge.classify(transcript, output))

    async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:
        return await self._there(self._judge.spans(question, answer, evidence))

    async def needs_facts(self, request: str) -> Reply[bool]:
        return await self._there(self._judge.needs_facts(request))

    async def close(self) -> None:
        """Nothing: the judge is its owner's."""

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
