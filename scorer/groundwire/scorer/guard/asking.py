"""How a signal is asked: who answers, until when, and what an answer, or none, comes to."""

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import JsonValue, ValidationError

from groundwire.scorer.claims import Claim
from groundwire.scorer.errors import ConfigError, GiveUp, RetryLater, SkipThis
from groundwire.scorer.fact_check import FactCheck, check_facts
from groundwire.scorer.guard.apart import score_apart
from groundwire.scorer.guard.result import SignalOutcome, SignalResult
from groundwire.scorer.guard.rules import Condition, Deployed, FactCheckSignal, Signals, SignalType
from groundwire.scorer.judge import Judge
from groundwire.scorer.metrics.config import SpansConfig, SpansSettings
from groundwire.scorer.metrics.metric import Material
from groundwire.scorer.metrics.shape import Broken
from groundwire.scorer.metrics.span_finding import require_spans
from groundwire.scorer.metrics.spans import SpansMetric
from groundwire.scorer.partition import Message, Partition, Span, TextPart
from groundwire.scorer.row import Row
from groundwire.scorer.spend import Account, Usage

__all__ = ["NO_FACTS", "Evidence", "Questions", "Subject", "read_subject", "unknown"]

T = TypeVar("T")

Evidence = JsonValue | Sequence[JsonValue]
"""The grounding context: a list is one block an entry; text as it is, data as JSON, `{"error": …}` as a failure."""

NO_FACTS = "no_fact_check_needed"
LIMITS = SpansConfig(max_response_length=8_000, max_total_context=16_000, concurrency_limit=1_000)
"""How much of the evidence a judge is shown; wider than the metric's own, for what is cut can't support anything."""
AT_ONCE = 1_000
"""Checks under way at once; the judge's own `concurrency` bounds its calls."""
SMALL = 4_000
"""Characters of answer and evidence that are read at once; more is read in a thread of its own."""


@dataclass(kw_only=True)
class Subject:
    """What one check is about, and what is known of it so far."""

    request: str
    partition: Partition
    size: int
    """Characters of answer and evidence, as far as they are text."""
    lead: int
    """White space before the answer's text, which the metric's offsets leave out."""
    account: Account
    unread: str | None
    """Why no judge is asked about the answer."""
    found: Material | Broken | None = None
    """What the metric read in the partition, once it has."""
    signals: dict[str, SignalResult] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    @property
    def is_small(self) -> bool:
        """Whether reading it takes no time to speak of."""
        return self.size <= SMALL


class Questions:
    """The configured signals, each with its judge and its deadline."""

    def __init__(self, signals: Signals, judges: Mapping[str, Judge], *, clock: Callable[[], datetime]) -> None:
        """Raises `ConfigError` where a judge isn't there, or can't answer what it is named for."""
        self._judges = judges
        self._clock = clock
        self._facts = {signal.name: signal for signal in signals.fact_check}
        self.metrics = {
            signal.name: self._metric(self._marking(signal), signal.predicate) for signal in signals.hallucination
        }
        """What answers each hallucination signal."""
        self._deadlines = {
            signal.name: signal.timeout_ms / 1000 for signal in (*signals.fact_check, *signals.hallucination)
        }
        self._pending: set[asyncio.Task[Any]] = set()
        for signal in signals.fact_check:
            judge = self._judge(signal)
            if signal.deployment is not None and "needs_facts" not in judge.capabilities:
                raise ConfigError(
                    f"fact_check {signal.name!r}: facts_required: the {judge.version.kind} judge can't tell whether a "
                    "request needs facts; leave deployment out (the rules then tell what they can) or name another"
                )

    @property
    def patience(self) -> float:
        """Seconds that all of them take at most, one after the other."""
        return sum(self._deadlines.values())

    @property
    def any_metric(self) -> SpansMetric:
        """What makes the row of a check that asked nothing about the answer."""
        return next(iter(self.metrics.values()), None) or self._metric(self._judges["default"], None)

    async def ask(self, condition: Condition, subject: Subject) -> SignalResult:
        """What a signal says; nothing that a judge does is raised, and nothing is waited for beyond its deadline."""
        began = time.perf_counter()
        work = self._fact_check if condition.type == "fact_check" else self._hallucination
        task = self.begin(work(condition, subject))
        done, _ = await asyncio.wait({task}, timeout=self._deadlines[condition.name])
        # what is late goes on: its reply is paid for, and cached for who asks the same again
        found = task.result() if done else unknown(condition, "timeout")
        return replace(found, seconds=time.perf_counter() - began)

    def begin(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """A task that outlives whoever waits for it."""
        task = asyncio.create_task(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        return task

    async def drain(self) -> None:
        """Wait for everything that was begun."""
        while self._pending:
            await asyncio.wait(self._pending)

    async def _fact_check(self, condition: Condition, subject: Subject) -> SignalResult:
        signal = self._facts[condition.name]
        try:
            found = await check_facts(subject.request, self._judge(signal).bound(subject.account))
        except Exception as error:  # noqa: BLE001 - whatever a judge does, the answer has its outcome
            return unknown(condition, _fault(error))
        subject.usage += found.usage
        return SignalResult(
            type="fact_check",
            name=signal.name,
            outcome=_matches(signal, found),
            reason=found.failure.reason if found.failure is not None else None,
            label=None if found.label == "unknown" else found.label,
        )

    async def _hallucination(self, condition: Condition, subject: Subject) -> SignalResult:
        if subject.unread is not None:
            return unknown(condition, subject.unread)
        metric = self.metrics[condition.name]
        try:
            if subject.is_small:
                subject.found = subject.found or metric.material(subject.partition)  # every signal reads it alike
                row = await metric.score(subject.partition, account=subject.account, found=subject.found)
            else:
                row = await score_apart(metric, subject.partition, subject.account)
        except Exception as error:  # noqa: BLE001 - as above
            return unknown(condition, _fault(error))
        subject.rows[condition.name] = row
        subject.usage += row.usage
        if row.status != "scored":
            return unknown(condition, row.reason or row.status)
        return SignalResult(
            type="hallucination",
            name=condition.name,
            outcome="matched" if row.label == "matched" else "not_matched",
            spans=tuple(_moved(claim, subject.lead) for claim in row.claims),
        )

    def _judge(self, signal: Deployed) -> Judge:
        name = signal.deployment or "default"
        if name not in self._judges:
            raise ConfigError(
                f"signal {signal.name!r}: no judge is called {name!r}; there are: {', '.join(sorted(self._judges))}"
            )
        return self._judges[name]

    def _marking(self, signal: Deployed) -> Judge:
        judge = self._judge(signal)
        require_spans(judge, f"hallucination {signal.name!r}")
        return judge

    def _metric(self, judge: Judge, predicate: float | None) -> SpansMetric:
        return SpansMetric(
            judge=judge,
            config=LIMITS.model_copy(update={"predicate": predicate}),
            settings=SpansSettings(evidence_policy="relevant"),
            max_concurrency=AT_ONCE,
            clock=self._clock,
        )


def read_subject(
    request: str,
    answer: str,
    evidence: Evidence,
    *,
    account: Account,
    now: datetime,
    trace_id: str | None = None,
    unread: str | None = None,
) -> Subject:
    """Request, answer and evidence as a trace: the evidence is what its tools gave back.

    Raises `SkipThis` for evidence that is neither text nor JSON.
    """
    trace = trace_id or f"check-{uuid.uuid4().hex}"
    entries: list[Any] = list(evidence) if isinstance(evidence, list | tuple) else [evidence]
    root = Span(
        span_id="answer",
        trace_id=trace,
        kind="AGENT",
        start_time=now,
        end_time=now + timedelta(seconds=1),
        input_messages=(Message(role="user", parts=(TextPart(content=request),)),),
        output_messages=(Message(role="assistant", parts=(TextPart(content=answer),)),),
    )
    tools = [
        _tool(entry, number, trace=trace, now=now) for number, entry in enumerate(entries, start=1) if entry is not None
    ]
    return Subject(
        request=request,
        partition=Partition(partition_type="trace", partition_id=trace, trace_id=trace, spans=(root, *tools)),
        size=len(answer) + sum(map(_size, entries)),
        lead=len(answer) - len(answer.lstrip()),
        account=account,
        unread=unread,
    )


def unknown(condition: Condition, reason: str) -> SignalResult:
    """A signal that nobody could tell, and why."""
    kind: SignalType = "fact_check" if condition.type == "fact_check" else "hallucination"
    return SignalResult(type=kind, name=condition.name, outcome="unknown", reason=reason)


def _tool(entry: Any, number: int, *, trace: str, now: datetime) -> Span:
    try:
        return Span(
            span_id=f"evidence-{number}",
            trace_id=trace,
            parent_id="answer",
            kind="TOOL",
            start_time=now + timedelta(microseconds=number),
            output=entry,
        )
    except (ValidationError, RecursionError):  # whose message holds the entry
        raise SkipThis(f"evidence: entry {number} is neither text nor JSON") from None


def _size(entry: Any) -> int:
    """Characters of an entry; data counts as much, for it is read as JSON."""
    return len(entry) if isinstance(entry, str) else SMALL + 1 if isinstance(entry, dict | list) else 20


def _matches(signal: FactCheckSignal, found: FactCheck) -> SignalOutcome:
    if found.label == "unknown":
        return "unknown"
    wanted = NO_FACTS if signal.name == NO_FACTS else "needs_fact_check"
    return "matched" if found.label == wanted else "not_matched"


def _fault(error: Exception) -> str:
    """Why a judge gave nothing, in a word."""
    match error:
        case GiveUp():
            return "judge_gave_up"
        case RetryLater():
            return "state_unavailable"
        case _:
            return "internal_error"


def _moved(claim: Claim, by: int) -> Claim:
    if by == 0 or claim.start is None or claim.end is None:
        return claim
    return claim.model_copy(update={"start": claim.start + by, "end": claim.end + by})
