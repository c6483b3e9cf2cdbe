"""The guard: asks what its rules need to know of an answer, and does what they say."""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from pydantic import JsonValue

from groundwire.scorer.claims import Claim
from groundwire.scorer.errors import ConfigError, GiveUp, RetryLater
from groundwire.scorer.fact_check import FactCheck, check_facts
from groundwire.scorer.guard.logic import evaluate
from groundwire.scorer.guard.recipes import read_guard
from groundwire.scorer.guard.result import GuardResult, SignalOutcome, SignalResult, conclude
from groundwire.scorer.guard.rules import (
    Condition,
    Deployed,
    FactCheckSignal,
    GuardRules,
    HallucinationSignal,
    SignalType,
    Tree,
    conditions_in,
    writes,
)
from groundwire.scorer.guard.stream import GuardedStream
from groundwire.scorer.judge import Judge
from groundwire.scorer.judges.offline import OfflineJudge
from groundwire.scorer.metrics.config import SpansConfig, SpansSettings
from groundwire.scorer.metrics.metric import now_utc
from groundwire.scorer.metrics.span_finding import require_spans
from groundwire.scorer.metrics.spans import SpansMetric
from groundwire.scorer.partition import Message, Partition, Span, TextPart
from groundwire.scorer.row import Row
from groundwire.scorer.spend import Account, Usage

__all__ = ["Check", "Evidence", "Guard", "Recorder"]

log = logging.getLogger(__name__)

T = TypeVar("T")

Evidence = JsonValue | Sequence[JsonValue]
"""The grounding context: a list is one block an entry; text as it is, data as JSON, `{"error": …}` as a failure."""

LIMITS = SpansConfig(max_response_length=8_000, max_total_context=16_000, concurrency_limit=1_000)
"""How much of the evidence a judge is shown; wider than the metric's own, for what is cut can't support anything."""
AT_ONCE = 1_000
"""Checks under way at once; the judge's own `concurrency` bounds its calls."""
NO_FACTS = "no_fact_check_needed"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check, for whoever keeps it."""

    row: Row
    """What `unsupported_spans` found, with the guard's actions among its flags; `skipped` where nothing was asked."""
    content_hash: str
    trace_id: str | None
    """The trace on the platform, where it is known."""
    result: GuardResult


class Recorder(Protocol):
    """Where checks are kept."""

    async def record(self, check: Check) -> None:
        """Keep a check. The same check again is nothing."""
        ...


@dataclass(kw_only=True)
class _Asking:
    """What is known in one check so far."""

    partition: Partition
    request: str
    lead: int
    """White space before the answer's text, which the metric's offsets leave out."""
    account: Account
    unread: str | None
    """Why no judge is asked about the answer."""
    signals: dict[str, SignalResult] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


class Guard:
    """Checks answers by configured rules. One instance serves many checks at once, in one event loop."""

    def __init__(
        self,
        rules: GuardRules,
        *,
        judges: Mapping[str, Judge] | None = None,
        name: str = "guard",
        recorder: Recorder | None = None,
        ignored: Sequence[str] = (),
        clock: Callable[[], datetime] = now_utc,
    ) -> None:
        """See `from_config`."""
        self.rules = rules
        self.name = name
        self.ignored = tuple(ignored)
        """Keys of the configuration that are a router's own, a line each."""
        self._judges: dict[str, Judge] = {"offline": OfflineJudge(), **(judges or {})}
        self._judges.setdefault("default", self._judges["offline"])
        self._recorder = recorder
        self._clock = clock
        self._pending: set[asyncio.Task[Any]] = set()
        self._facts = {signal.name: signal for signal in rules.signals.fact_check}
        self._metrics = {signal.name: self._metric(signal) for signal in rules.signals.hallucination}
        self._deadlines = {
            signal.name: signal.timeout_ms / 1000
            for signal in (*rules.signals.fact_check, *rules.signals.hallucination)
        }
        for signal in rules.signals.fact_check:
            judge = self._judge(signal)
            if signal.deployment is not None and "needs_facts" not in judge.capabilities:
                raise ConfigError(
                    f"fact_check {signal.name!r}: facts_required: the {judge.version.kind} judge can't tell whether a "
                    "request needs facts; leave deployment out (the rules then tell what they can) or name another"
                )

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any] | GuardRules,
        *,
        judges: Mapping[str, Judge] | None = None,
        recipe: str | None = None,
        decision: str | None = None,
        name: str = "guard",
        recorder: Recorder | None = None,
        clock: Callable[[], datetime] = now_utc,
    ) -> "Guard":
        """The guard that a configuration describes; see `recipes.read_guard` for its forms.

        `judges` are the deployments by name: `default` answers unless a signal names another, and is the offline judge
        where it isn't given. `recipe` and `decision` choose among several. Raises `ConfigError` with one line: a rule
        that names an unknown signal or type, a deployment that isn't there, a judge that marks no spans
        (`span_required`), a cycle.
        """
        rules, ignored = (
            (config, ()) if isinstance(config, GuardRules) else read_guard(config, recipe=recipe, decision=decision)
        )
        return cls(rules, judges=judges, name=name, recorder=recorder, ignored=ignored, clock=clock)

    @property
    def holds(self) -> bool:
        """Whether a stream is held until it was checked, because a rule can write into the answer."""
        return any(map(writes, self.rules.rules))

    @property
    def patience(self) -> float:
        """Seconds that a check takes at most: every signal, one after the other, at its own deadline."""
        return sum(self._deadlines.values())

    async def check(
        self,
        request: str,
        answer: str,
        evidence: Evidence = None,
        *,
        trace_id: str | None = None,
        unread: str | None = None,
    ) -> GuardResult:
        """Check one answer, and do what the rules say.

        Whatever a judge does (fails, is late, is over its cap) is an unknown signal, which the rules' `on_unknown`
        decides about; nothing of it is raised. `trace_id` is the trace's on the platform, for the record. With `unread`
        no judge is asked about the answer, and that is why: a stream that died is `incomplete`.
        """
        asking = _Asking(
            partition=_partition(request, answer, evidence, trace_id=trace_id, now=self._clock()),
            request=request,
            lead=len(answer) - len(answer.lstrip()),
            account=Account(evaluator=self.name, trace_id=trace_id or ""),
            unread=unread,
        )
        result = await self._concluded(answer, asking)
        if self._recorder is not None:
            try:
                await self._recorder.record(self._kept(asking, result, trace_id))
            except Exception as error:  # noqa: BLE001 - the answer is given, whatever becomes of its record
                log.error("a check was not recorded", extra={"action": "record", "reason": type(error).__name__})
        return result

    async def unchecked(self, answer: str, reason: str) -> GuardResult:
        """What the rules say where nothing can be known of an answer. Asks nobody, and keeps no record."""

        async def nobody(condition: Condition) -> None:
            signals.setdefault(condition.name, _unknown(condition, reason))

        signals: dict[str, SignalResult] = {}
        outcomes = [(rule, await evaluate(rule.when, nobody)) for rule in self.rules.rules]
        decided = [(rule, outcome, _because(rule.when, outcome, signals)) for rule, outcome in outcomes]
        return conclude(answer, decided, signals, Usage())

    def stream(
        self, chunks: AsyncIterable[str], *, request: str, evidence: Evidence = None, trace_id: str | None = None
    ) -> GuardedStream:
        """A streamed answer, checked once it ends: held until then where a rule can write into it, else passed live."""
        return GuardedStream(
            chunks,
            held=self.holds,
            check=lambda answer, unread: self.check(request, answer, evidence, trace_id=trace_id, unread=unread),
            begin=self._begin,
        )

    async def close(self) -> None:
        """Wait for what is under way: judges that answer late, and streams' checks. The judges are their owner's."""
        while self._pending:
            await asyncio.wait(self._pending)

    async def _concluded(self, answer: str, asking: _Asking) -> GuardResult:
        async def ask(condition: Condition) -> bool | None:
            if condition.name not in asking.signals:
                asking.signals[condition.name] = await self._asked(condition, asking)
            return _holds(asking.signals[condition.name])

        decided = []
        for rule in self.rules.rules:
            outcome = await evaluate(rule.when, ask)
            decided.append((rule, outcome, _because(rule.when, outcome, asking.signals)))
        return conclude(answer, decided, asking.signals, asking.usage)

    async def _asked(self, condition: Condition, asking: _Asking) -> SignalResult:
        began = time.perf_counter()
        if condition.name in self._facts:
            work: Coroutine[Any, Any, SignalResult] = self._fact_check(self._facts[condition.name], asking)
        else:
            work = self._hallucination(condition.name, asking)
        task = self._begin(work)
        done, _ = await asyncio.wait({task}, timeout=self._deadlines[condition.name])
        if not done:  # it goes on: its reply is paid for, and cached for who asks the same again
            return _unknown(condition, "timeout", seconds=time.perf_counter() - began)
        return await task

    async def _fact_check(self, signal: FactCheckSignal, asking: _Asking) -> SignalResult:
        began = time.perf_counter()
        condition = Condition(type="fact_check", name=signal.name)
        judge = self._judge(signal).bound(asking.account)
        try:
            found = await check_facts(asking.request, judge)
        except Exception as error:  # noqa: BLE001 - whatever a judge does, the answer has its outcome
            return _unknown(condition, _fault(error), seconds=time.perf_counter() - began)
        asking.usage += found.usage
        return SignalResult(
            type="fact_check",
            name=signal.name,
            outcome=_matches(signal, found),
            reason=found.failure.reason if found.failure is not None else None,
            label=None if found.label == "unknown" else found.label,
            seconds=time.perf_counter() - began,
        )

    async def _hallucination(self, name: str, asking: _Asking) -> SignalResult:
        began = time.perf_counter()
        condition = Condition(type="hallucination", name=name)
        if asking.unread is not None:
            return _unknown(condition, asking.unread)
        try:
            row = await self._metrics[name].score(asking.partition, account=asking.account)
        except Exception as error:  # noqa: BLE001 - as above
            return _unknown(condition, _fault(error), seconds=time.perf_counter() - began)
        asking.rows[name] = row
        asking.usage += row.usage
        scored = row.status == "scored"
        return SignalResult(
            type="hallucination",
            name=name,
            outcome="unknown" if not scored else "matched" if row.label == "matched" else "not_matched",
            reason=None if scored else row.reason or row.status,
            spans=tuple(_moved(claim, asking.lead) for claim in row.claims),
            seconds=time.perf_counter() - began,
        )

    def _kept(self, asking: _Asking, result: GuardResult, trace_id: str | None) -> Check:
        """The check as one row: of the signal that the first rule acted on, else of the first that was asked."""
        partition = asking.partition
        acted = (name for fired in result.fired for name in fired.because)
        asked = (name for name in result.signals if name in self._metrics)
        name = next((one for one in (*acted, *asked) if one in self._metrics), None)
        if name is None:  # no rule needed to know
            metric = next(iter(self._metrics.values()), None) or self._metric_of(self._judges["default"], None)
            needless = any(found.label == NO_FACTS for found in result.signals.values())
            row = metric.refused(partition, "skipped", NO_FACTS if needless else "not_asked", evaluator=self.name)
        else:
            metric = self._metrics[name]
            row = asking.rows.get(name) or metric.refused(
                partition, "unknown", result.signals[name].reason or "undecided", evaluator=self.name
            )
        told: dict[str, JsonValue] = {
            "signals": {found.name: found.label or found.outcome for found in result.signals.values()},
            "warnings": list(result.warnings),
        }
        notes = row.judge.get("notes")
        row = row.model_copy(
            update={
                "flags": tuple(sorted({*row.flags, *(f"guard_{action}" for action in result.actions)})),
                "usage": result.usage,
                "judge": {**row.judge, "notes": {**(notes if isinstance(notes, dict) else {}), "guard": told}},
            }
        )
        return Check(row=row, content_hash=metric.content_hash(partition), trace_id=trace_id, result=result)

    def _judge(self, signal: Deployed) -> Judge:
        name = signal.deployment or "default"
        if name not in self._judges:
            raise ConfigError(
                f"signal {signal.name!r}: no judge is called {name!r}; there are: {', '.join(sorted(self._judges))}"
            )
        return self._judges[name]

    def _metric(self, signal: HallucinationSignal) -> SpansMetric:
        judge = self._judge(signal)
        require_spans(judge, f"hallucination {signal.name!r}")
        return self._metric_of(judge, signal.predicate)

    def _metric_of(self, judge: Judge, predicate: float | None) -> SpansMetric:
        return SpansMetric(
            judge=judge,
            config=LIMITS.model_copy(update={"predicate": predicate}),
            settings=SpansSettings(evidence_policy="relevant"),
            max_concurrency=AT_ONCE,
            clock=self._clock,
        )

    def _begin(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """A task that outlives whoever waits for it."""
        task = asyncio.create_task(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        return task


def _partition(request: str, answer: str, evidence: Evidence, *, trace_id: str | None, now: datetime) -> Partition:
    """Request, answer and evidence as a trace: the evidence is what its tools gave back."""
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
        Span(
            span_id=f"evidence-{number}",
            trace_id=trace,
            parent_id="answer",
            kind="TOOL",
            start_time=now + timedelta(microseconds=number),
            output=entry,
        )
        for number, entry in enumerate(entries, start=1)
        if entry is not None
    ]
    return Partition(partition_type="trace", partition_id=trace, trace_id=trace, spans=(root, *tools))


def _matches(signal: FactCheckSignal, found: FactCheck) -> SignalOutcome:
    if found.label == "unknown":
        return "unknown"
    wanted = NO_FACTS if signal.name == NO_FACTS else "needs_fact_check"
    return "matched" if found.label == wanted else "not_matched"


def _holds(found: SignalResult) -> bool | None:
    return None if found.outcome == "unknown" else found.outcome == "matched"


def _because(when: Condition | Tree, outcome: bool | None, signals: Mapping[str, SignalResult]) -> tuple[str, ...]:
    """The signals that came out as the rule did: what the answer was found to be, where that was asked."""
    if outcome is False:
        return ()
    names = dict.fromkeys(condition.name for condition in conditions_in(when))
    alike = [signals[name] for name in names if name in signals and _holds(signals[name]) is outcome]
    of_the_answer = [found.name for found in alike if found.type == "hallucination"]
    return tuple(of_the_answer or [found.name for found in alike])


def _unknown(condition: Condition, reason: str, *, seconds: float = 0.0) -> SignalResult:
    kind: SignalType = "fact_check" if condition.type == "fact_check" else "hallucination"
    return SignalResult(type=kind, name=condition.name, outcome="unknown", reason=reason, seconds=seconds)


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
