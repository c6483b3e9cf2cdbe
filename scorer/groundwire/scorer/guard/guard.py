"""The guard: asks what its rules need to know of an answer, and does what they say."""

import asyncio
import logging
from collections.abc import AsyncIterable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from pydantic import JsonValue

from groundwire.scorer.guard.asking import NO_FACTS, Evidence, Questions, Subject, read_subject, unknown
from groundwire.scorer.guard.logic import evaluate
from groundwire.scorer.guard.recipes import read_guard
from groundwire.scorer.guard.result import GuardResult, SignalResult, conclude
from groundwire.scorer.guard.rules import Condition, GuardRules, Tree, conditions_in, writes
from groundwire.scorer.guard.stream import GuardedStream
from groundwire.scorer.judge import Judge
from groundwire.scorer.judges.offline import OfflineJudge
from groundwire.scorer.metrics.metric import now_utc
from groundwire.scorer.partition import Partition
from groundwire.scorer.row import Row
from groundwire.scorer.spend import Account

__all__ = ["Guard", "GuardCheck", "Recorder"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class GuardCheck:
    """One check, for whoever keeps it."""

    row: Row
    """What `unsupported_spans` found, with the guard's actions among its flags; `skipped` where nothing was asked."""
    partition: Partition
    """What was judged: request, answer and evidence as a trace."""
    content_hash: str
    trace_id: str | None
    """The trace on the platform, where it is known."""
    result: GuardResult


class Recorder(Protocol):
    """Where checks are kept."""

    async def record(self, check: GuardCheck) -> None:
        """Keep a check."""
        ...


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
        offline = OfflineJudge()
        known: dict[str, Judge] = {"default": offline, "offline": offline, **(judges or {})}
        self._questions = Questions(rules.signals, known, clock=clock)
        self._recorder = recorder
        self._clock = clock

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        *,
        judges: Mapping[str, Judge] | None = None,
        recipe: str | None = None,
        decision: str | None = None,
        name: str = "guard",
        recorder: Recorder | None = None,
        clock: Callable[[], datetime] = now_utc,
    ) -> "Guard":
        """The guard that a configuration describes; see `read_guard` for its forms.

        `judges` are the deployments by name: `default` answers unless a signal names another, and is the offline judge
        where it isn't given. `recipe` and `decision` choose among several; `name` is whom judges' calls and records are
        booked on. Raises `ConfigError` with one line: a rule that names an unknown signal or type, a deployment that
        isn't there, a judge that marks no spans (`span_required`), a cycle.
        """
        rules, ignored = read_guard(config, recipe=recipe, decision=decision)
        return cls(rules, judges=judges, name=name, recorder=recorder, ignored=ignored, clock=clock)

    @property
    def holds(self) -> bool:
        """Whether a stream is held until it was checked, because a rule can write into the answer."""
        return any(map(writes, self.rules.rules))

    @property
    def patience(self) -> float:
        """Seconds that a check takes at most: every signal, one after the other, at its own deadline."""
        return self._questions.patience

    async def check(
        self,
        request: str,
        answer: str,
        evidence: Evidence = None,
        *,
        trace_id: str | None = None,
        unread: str | None = None,
    ) -> GuardResult:
        """GuardCheck one answer, and do what the rules say.

        Whatever a judge does (fails, is late, is over its cap) is an unknown signal, which the rules' `on_unknown`
        decides about; nothing of it is raised. `trace_id` is the trace's on the platform, for the record. With `unread`
        no judge is asked about the answer, and that is why: a stream that died is `incomplete`. Raises `SkipThis` for
        evidence that is neither text nor JSON.
        """
        subject = read_subject(
            request,
            answer,
            evidence,
            account=Account(evaluator=self.name, trace_id=trace_id or ""),
            now=self._clock(),
            trace_id=trace_id,
            unread=unread,
        )

        async def ask(condition: Condition) -> SignalResult:
            return await self._questions.ask(condition, subject)

        result = await self._decided(answer, ask, subject.signals)
        result = replace(result, usage=subject.usage)
        if self._recorder is not None:  # no answer waits for its record
            self._questions.begin(self._record(self._recorder, subject, result, trace_id))
        return result

    async def unchecked(self, answer: str, reason: str) -> GuardResult:
        """What the rules say where nothing can be known of an answer. Asks nobody, and keeps no record."""

        async def ask(condition: Condition) -> SignalResult:
            return unknown(condition, reason)

        return await self._decided(answer, ask, {})

    def stream(
        self, chunks: AsyncIterable[str], *, request: str, evidence: Evidence = None, trace_id: str | None = None
    ) -> GuardedStream:
        """A streamed answer, checked once it ends: held until then where a rule can write into it, else passed live."""
        return GuardedStream(
            chunks,
            held=self.holds,
            check=lambda answer, unread: self.check(request, answer, evidence, trace_id=trace_id, unread=unread),
            begin=self._questions.begin,
        )

    async def close(self) -> None:
        """Wait for what is under way: records, streams' checks, judges that answer late. Judges are their owner's."""
        await self._questions.drain()

    async def _decided(
        self,
        answer: str,
        ask: Callable[[Condition], Coroutine[Any, Any, SignalResult]],
        signals: dict[str, SignalResult],
    ) -> GuardResult:
        """Look at every rule; each signal is asked once, when the first rule needs it."""

        async def holds(condition: Condition) -> bool | None:
            if condition.name not in signals:
                signals[condition.name] = await ask(condition)
            return signals[condition.name].holds

        decided = []
        for rule in self.rules.rules:
            outcome = await evaluate(rule.when, holds)
            decided.append((rule, outcome, _because(rule.when, outcome, signals)))
        return conclude(answer, decided, signals)

    async def _record(self, recorder: Recorder, subject: Subject, result: GuardResult, trace_id: str | None) -> None:
        try:
            if subject.is_small:
                check = self._kept(subject, result, trace_id)
            else:
                check = await asyncio.to_thread(self._kept, subject, result, trace_id)
            await recorder.record(check)
        except Exception as error:  # noqa: BLE001 - the answer is given, whatever becomes of its record
            log.error("a check was not recorded", extra={"action": "record", "reason": type(error).__name__})

    def _kept(self, subject: Subject, result: GuardResult, trace_id: str | None) -> GuardCheck:
        """The check as one row: of the signal that the first rule acted on, else of the first that was asked."""
        partition, metrics = subject.partition, self._questions.metrics
        acted = (name for fired in result.fired for name in fired.because)
        name = next((one for one in (*acted, *result.signals) if one in metrics), None)
        metric = self._questions.any_metric if name is None else metrics[name]
        if name is None:  # no rule needed to know
            needless = any(found.label == NO_FACTS for found in result.signals.values())
            row = metric.refused(partition, "skipped", NO_FACTS if needless else "not_asked", evaluator=self.name)
        elif name not in subject.rows or result.signals[name].reason == "timeout":  # what came late changes nothing
            reason = result.signals[name].reason or "undecided"
            row = metric.refused(partition, "unknown", reason, evaluator=self.name)
        else:
            row = subject.rows[name]
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
        return GuardCheck(
            row=row,
            partition=partition,
            content_hash=metric.content_hash(partition, found=subject.found),
            trace_id=trace_id,
            result=result,
        )


def _because(when: Condition | Tree, outcome: bool | None, signals: Mapping[str, SignalResult]) -> tuple[str, ...]:
    """The signals that came out as the rule did: what the answer was found to be, where that was asked."""
    if outcome is False:
        return ()
    names = dict.fromkeys(condition.name for condition in conditions_in(when))
    alike = [signals[name] for name in names if name in signals and signals[name].holds is outcome]
    of_the_answer = [found.name for found in alike if found.type == "hallucination"]
    return tuple(of_the_answer or [found.name for found in alike])
