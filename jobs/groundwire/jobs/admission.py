"""What of a page becomes work: each trace cut for each evaluator, filtered, sampled, and due when it has settled."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from pydantic import JsonValue

from groundwire.connectors import Origin, Trace, cut, cut_session
from groundwire.jobs.filters import is_loop, matches, matches_span, may_match
from groundwire.jobs.ledger import window_end
from groundwire.jobs.sampling import draw, inclusion, inclusion_bound
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store.work import Arrival
from groundwire.scorer import Account, FactCheck, Metric, Partition, check_facts

log = logging.getLogger(__name__)

__all__ = [
    "Admission",
    "Evaluator",
    "admit",
    "is_complete",
    "last_change",
    "origin_of",
    "passed_over",
    "quiet",
    "read_origin",
    "session_of",
    "stored_origin",
]


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """An evaluator of the configuration with its metric, ready to score."""

    spec: EvaluatorSpec
    metric: Metric
    since: datetime | None = None
    """When it was first started: what ended before is history, which is a backfill's."""

    def passes_over(self, head: Trace, *, rate: float | None = None) -> str | None:
        """Why a trace is surely not its own, told from the head alone; None where it may be."""
        if self._is_history(head) or not may_match(head, self.spec.where):
            return "filtered"
        key = _key(head, self.spec)
        if key is None:
            return None
        return "sampled_out" if draw(key) >= inclusion_bound(self.spec, rate=rate) else None

    def matches(self, trace: Trace) -> bool:
        """Whether its filter and its beginning let a trace in; a trace of no session is no turn of one."""
        if self.spec.level == "session" and trace.session_id is None:
            return False
        return not self._is_history(trace) and matches(trace, self.spec.where)

    def _is_history(self, trace: Trace) -> bool:
        end = trace.end_time
        return self.since is not None and end is not None and not trace.conversation and end < self.since

    def refuses(self, trace: Trace) -> bool:
        """Whether a trace is an evaluator's own, which is never scored whatever the filter says."""
        return is_loop(trace)

    def partitions(self, trace: Trace) -> tuple[Partition, ...]:
        """A trace cut for this evaluator; at session level, what it tells of the session it is the last turn of."""
        if self.spec.level == "session":
            return (session_of([trace], self.spec),) if trace.session_id and trace.spans else ()
        found = cut(trace, self.spec.level, kinds=self.spec.kinds)
        target = self.spec.where.span
        if target is None:
            return found
        return tuple(one for one in found if one.target is not None and matches_span(one.target, target))

    def arrival_hash(self, trace: Trace) -> str:
        """What arrives again of a session as long as nothing changed: the hash of its last trace alone."""
        return self.metric.content_hash(session_of([trace], self.spec))

    async def fact_check(self, question: str, account: Account) -> FactCheck | None:
        """Whether what was asked needs facts, where its gate wants to know. Raises as its judge does."""
        return None if self.spec.when is None else await check_facts(question, self.metric.judge.bound(account))

    def room_again(self, now: datetime) -> datetime:
        """When the shortest of its windows rolls, for `on_cap = "wait"`."""
        ends = [end for cap in self.spec.cap if (end := window_end(cap.per, now)) is not None]
        return min(ends, default=now + timedelta(hours=1))


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What a page comes to."""

    arrivals: tuple[Arrival, ...]
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By evaluator: `filtered` and `sampled_out`, which leave no row."""
    let_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By evaluator: the names of the traces that its filter let by."""

    def first(self, most: int) -> "Admission":
        """The same with at most that many arrivals."""
        return replace(self, arrivals=self.arrivals[:most])

    def holds(self, trace_id: str) -> bool:
        """Whether any of the work is about a trace."""
        return any(arrival.trace_id == trace_id for arrival in self.arrivals)


def is_complete(trace: Trace) -> bool:
    """Whether a trace has ended: its root is there and has an end. A conversation always has."""
    if trace.conversation:
        return True
    root = trace.root
    return root is not None and root.parent_id is None and root.end_time is not None


def last_change(trace: Trace) -> datetime:
    """The last moment that a trace tells of; the beginning of time for a conversation without times."""
    if "no_times" in trace.flags:
        return datetime.fromtimestamp(0, UTC)
    moments = [span.end_time or span.start_time for span in trace.spans]
    return max(moments, default=datetime.fromtimestamp(0, UTC))


def passed_over(head: Trace, evaluators: Sequence[Evaluator], *, rate: float | None = None) -> dict[str, str] | None:
    """Why each evaluator passes a trace over, by its name; None where one of them may want it."""
    reasons: dict[str, str] = {}
    for evaluator in evaluators:
        reason = evaluator.passes_over(head, rate=rate)
        if reason is None:
            return None
        reasons[evaluator.spec.name] = reason
    return reasons


def admit(
    traces: Sequence[Trace],
    evaluators: Sequence[Evaluator],
    *,
    now: datetime,
    at: Callable[[Literal["sample"]], None],
    live: bool = True,
    rate: float | None = None,
    rescore: bool = False,
    run_id: str | None = None,
) -> Admission:
    """Decide for each trace and evaluator; pure but for `at`, which is told when sampling begins."""
    arrivals: list[Arrival] = []
    counts: dict[str, dict[str, int]] = {}
    let_by: dict[str, list[str]] = {}
    for evaluator in evaluators:
        name = evaluator.spec.name
        tally = counts.setdefault(name, {})
        for trace in traces:
            if not evaluator.matches(trace):
                tally["filtered"] = tally.get("filtered", 0) + 1
                let_by.setdefault(name, []).append(trace.name)
                continue
            at("sample")
            probability = inclusion(trace, evaluator.spec, rate=rate)
            if draw(_key(trace, evaluator.spec) or trace.trace_id) >= probability:
                tally["sampled_out"] = tally.get("sampled_out", 0) + 1
                continue
            arrivals += _arrivals(trace, evaluator, probability, now=now, live=live, rescore=rescore, run_id=run_id)
    return Admission(
        arrivals=tuple(arrivals), counts=counts, let_by={name: tuple(names) for name, names in let_by.items()}
    )


def _arrivals(
    trace: Trace,
    evaluator: Evaluator,
    probability: float,
    *,
    now: datetime,
    live: bool,
    rescore: bool,
    run_id: str | None,
) -> list[Arrival]:
    complete = is_complete(trace)
    settled = last_change(trace) + quiet(evaluator.spec)
    return [
        Arrival(
            evaluator=evaluator.spec.name,
            partition_type=partition.partition_type,
            partition_id=partition.partition_id,
            trace_id=trace.trace_id,
            session_id=trace.session_id,
            origin=origin_of(trace),
            content_hash=evaluator.metric.content_hash(partition),
            inclusion=probability,
            not_before=max(now, settled) if complete else max(settled, now + timedelta(seconds=1)),
            waiting=not complete or settled > now,
            live=live,
            rescore=rescore,
            run_id=run_id,
        )
        for partition in evaluator.partitions(trace)
    ]


def origin_of(trace: Trace) -> dict[str, JsonValue]:
    """How a trace is fetched again, in a form that survives JSON."""
    return stored_origin(
        Origin(
            trace_id=trace.trace_id,
            start_time=trace.start_time,
            end_time=trace.end_time,
            hints={"origin": trace.origin},
        )
    )


def stored_origin(origin: Origin) -> dict[str, JsonValue]:
    """An origin in a form that survives JSON."""
    start, end = origin.start_time, origin.end_time
    return {
        "trace_id": origin.trace_id,
        "start_time": start.isoformat() if start else None,
        "end_time": end.isoformat() if end else None,
        "hints": dict(origin.hints),
    }


def read_origin(stored: Mapping[str, JsonValue]) -> Origin:
    """An origin as it was stored, its times read back."""
    start, end, hints = stored.get("start_time"), stored.get("end_time"), stored.get("hints")
    return Origin(
        trace_id=str(stored["trace_id"]),
        start_time=datetime.fromisoformat(str(start)) if start else None,
        end_time=datetime.fromisoformat(str(end)) if end else None,
        hints=hints if isinstance(hints, dict) else {},
    )


def session_of(traces: Sequence[Trace], spec: EvaluatorSpec) -> Partition:
    """The session that those traces are, in time order, after its last one.

    Its id holds the last turn's trace: a session that goes on is another partition, and keeps the score it had.
    """
    session = cut_session(traces, kinds=spec.kinds)
    return session.model_copy(update={"partition_id": f"{session.partition_id}@{session.trace_id}"})


def quiet(spec: EvaluatorSpec) -> timedelta:
    """How long nothing must have changed before something is judged."""
    return timedelta(seconds=max(spec.settle, spec.idle) if spec.level == "session" else spec.settle)


def _key(trace: Trace, spec: EvaluatorSpec) -> str | None:
    """What sampling goes by; None where a head doesn't tell its session."""
    return trace.session_id if spec.level == "session" else trace.trace_id
