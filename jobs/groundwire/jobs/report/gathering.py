"""From rows to rates: every row is looked at once, and memory grows with the groups and days, not with the rows."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pydantic import JsonValue

from groundwire.jobs.report.rates import Dimension, Drift, Rate, Traces
from groundwire.jobs.store.rates import RateRow
from groundwire.scorer import Proportion, WeightedTally, compare_proportions, weighted_proportion

__all__ = ["Gathering", "GroupKey", "Pool"]

MOST_VALUES = 100
"""Values of one dimension that are told apart in a group; what comes after them is `(other)`."""
OTHER = "(other)"
WEEK = timedelta(days=7)

GroupKey = tuple[str, str, str, str, str]
"""Evaluator, metric, metric version, partition type, fingerprint: only rows that agree in all are pooled."""

_HALLUCINATED = {"hallucinated": 1, "matched": 1, "grounded": 0, "not_matched": 0}


class _Share:
    """A weighted share that grows row by row; the rows of one trace come one after the other."""

    __slots__ = ("a", "aa", "ab", "at", "b", "bb", "clusters", "n", "pending_a", "pending_b", "positives")

    def __init__(self) -> None:
        self.n = self.positives = self.clusters = 0
        self.a = self.b = self.aa = self.ab = self.bb = self.pending_a = self.pending_b = 0.0
        self.at: str | None = None

    def add(self, trace_id: str, positive: int, weight: float) -> None:
        if trace_id != self.at:
            self._close()
            self.at = trace_id
        self.n += 1
        self.positives += positive
        self.pending_a += positive * weight
        self.pending_b += weight

    def _close(self) -> None:
        a, b = self.pending_a, self.pending_b
        if b:
            self.clusters += 1
            self.a += a
            self.b += b
            self.aa += a * a
            self.ab += a * b
            self.bb += b * b
            self.pending_a = self.pending_b = 0.0

    def result(self) -> Proportion | None:
        self._close()
        return weighted_proportion(
            WeightedTally(
                n=self.n,
                positives=self.positives,
                clusters=self.clusters,
                a=self.a,
                b=self.b,
                aa=self.aa,
                ab=self.ab,
                bb=self.bb,
            )
        )


class Pool:
    """Rows of one group that have something in common."""

    __slots__ = ("rows", "score_sum", "score_weight", "share", "statuses")

    def __init__(self) -> None:
        self.share = _Share()
        self.rows = 0
        self.score_sum = self.score_weight = 0.0
        self.statuses: Counter[str] = Counter()

    def add(self, row: RateRow, verdict: int | None, weight: float) -> None:
        """Count a row in."""
        self.rows += 1
        self.statuses[f"{row.status}:{row.reason}" if row.reason else row.status] += 1
        if row.score is not None:
            self.score_sum += weight * row.score
            self.score_weight += weight
        if verdict is not None:
            self.share.add(row.trace_id, verdict, weight)

    def rate(self, value: str) -> Rate:
        """What they come to."""
        return Rate(
            value=value,
            rows=self.rows,
            hallucinated=self.share.result(),
            score=self.score_sum / self.score_weight if self.score_weight else None,
            statuses=dict(sorted(self.statuses.items())),
        )


@dataclass(kw_only=True)
class GatheredGroup:
    """The pools of one group."""

    first: datetime
    last: datetime
    row_id: str
    """One of its rows."""
    overall: Pool = field(default_factory=Pool)
    now: Pool = field(default_factory=Pool)
    before: Pool = field(default_factory=Pool)
    days: dict[str, Pool] = field(default_factory=dict)
    by: dict[Dimension, dict[str, Pool]] = field(default_factory=dict)

    def add(self, row: RateRow, until: datetime) -> None:
        """Count a row into every pool that it belongs to."""
        verdict = _HALLUCINATED.get(row.label or "") if row.status == "scored" else None
        weight = 1 / row.inclusion
        self.first, self.last = min(self.first, row.at), max(self.last, row.at)
        self.overall.add(row, verdict, weight)
        if row.at >= until - WEEK:
            self.now.add(row, verdict, weight)
        elif row.at >= until - 2 * WEEK:
            self.before.add(row, verdict, weight)
        _pool(self.days, row.at.date().isoformat()).add(row, verdict, weight)
        for dimension, value in _values(row.facts):
            pools = self.by.setdefault(dimension, {})
            name = value if value in pools or len(pools) < MOST_VALUES else OTHER
            _pool(pools, name).add(row, verdict, weight)

    def drift(self) -> Drift:
        """This week against last."""
        before, now = self.before.share.result(), self.now.share.result()
        compared = compare_proportions(before, now) if before is not None and now is not None else None
        return Drift(before=before, now=now, comparison=compared)

    def rates_by(self) -> dict[Dimension, tuple[Rate, ...]]:
        """By dimension, the most frequent value first; a dimension whose values nobody told is left out."""
        return {
            dimension: tuple(
                sorted((pool.rate(value) for value, pool in pools.items()), key=lambda rate: (-rate.rows, rate.value))
            )
            for dimension, pools in sorted(self.by.items())
        }


def _pool(pools: dict[str, Pool], name: str) -> Pool:
    found = pools.get(name)
    if found is None:
        found = pools[name] = Pool()
    return found


def _values(facts: Mapping[str, JsonValue]) -> Iterator[tuple[Dimension, str]]:
    if environment := facts.get("environment"):
        yield "environment", str(environment)
    if release := facts.get("release"):
        yield "release", str(release)
    lists: tuple[tuple[Dimension, str], ...] = (("model", "models"), ("prompt", "prompts"), ("tag", "tags"))
    for dimension, name in lists:
        values = facts.get(name)
        if isinstance(values, list):
            for value in dict.fromkeys(values):
                yield dimension, str(value)


class _TracePool:
    """The application's figures over some traces."""

    __slots__ = ("cost", "cost_weight", "latencies", "latency_weights", "n", "token_weight", "tokens", "with_cost",
                 "with_tokens")  # fmt: skip

    def __init__(self) -> None:
        self.n = self.with_cost = self.with_tokens = 0
        self.cost = self.cost_weight = self.token_weight = 0.0
        self.tokens: Counter[str] = Counter()
        self.latencies, self.latency_weights = array("f"), array("f")

    def add(self, facts: Mapping[str, JsonValue], weight: float) -> None:
        self.n += 1
        usage, tokens, latency = facts.get("usage"), facts.get("tokens"), facts.get("latency")
        cost = usage.get("cost") if isinstance(usage, dict) else None
        if isinstance(cost, int | float):
            self.with_cost += 1
            self.cost += weight * cost
            self.cost_weight += weight
        if isinstance(tokens, dict) and tokens:
            self.with_tokens += 1
            self.token_weight += weight
            for name, count in tokens.items():
                if isinstance(count, int | float):
                    self.tokens[name] += weight * count  # type: ignore[assignment]  # a Counter of weighted sums
        if isinstance(latency, int | float):
            self.latencies.append(latency)
            self.latency_weights.append(weight)

    def result(self, value: str) -> Traces:
        p50, p95 = _weighted_quantiles(self.latencies, self.latency_weights, (0.5, 0.95))
        return Traces(
            value=value,
            n=self.n,
            cost=self.cost / self.cost_weight if self.cost_weight else None,
            with_cost=self.with_cost,
            p50=p50,
            p95=p95,
            tokens={name: total / self.token_weight for name, total in self.tokens.items()},
            with_tokens=self.with_tokens,
        )


def _weighted_quantiles(
    values: "array[float]", weights: "array[float]", shares: tuple[float, ...]
) -> tuple[float | None, ...]:
    """The least value at or below which that share of the weight lies."""
    if not values:
        return (None,) * len(shares)
    import numpy as np

    held = np.frombuffer(values, dtype=np.float32)
    order = np.argsort(held, kind="stable")
    reached = np.cumsum(np.frombuffer(weights, dtype=np.float32)[order], dtype=np.float64)
    places = np.searchsorted(reached, [share * reached[-1] * (1 - 1e-9) for share in shares])
    return tuple(float(held[order[min(int(place), len(order) - 1)]]) for place in places)


class Gathering:
    """All groups, and the traces behind them."""

    def __init__(self, *, until: datetime) -> None:
        self.groups: dict[GroupKey, GatheredGroup] = {}
        self.prompts: dict[tuple[str, str], dict[str, datetime]] = {}
        """By evaluator and partition type: when each version of a prompt of the application was first seen."""
        self._until = until
        self._traces = _TracePool()
        self._trace_days: dict[str, _TracePool] = {}
        self._trace: RateRow | None = None
        self._inclusion = 0.0

    def add(self, rows: Iterable[RateRow]) -> None:
        """Count rows in; those of one trace stand together."""
        for row in rows:
            key = (row.evaluator, row.metric, row.metric_version, row.partition_type, row.fingerprint)
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = GatheredGroup(first=row.at, last=row.at, row_id=row.row_id)
            group.add(row, self._until)
            self._note_prompts(row)
            if self._trace is None or row.trace_id != self._trace.trace_id:
                self._close_trace()
                self._trace, self._inclusion = row, 0.0
            self._inclusion = max(self._inclusion, row.inclusion)
        self._close_trace()

    def _note_prompts(self, row: RateRow) -> None:
        prompts = row.facts.get("prompts")
        if isinstance(prompts, list) and prompts:
            seen = self.prompts.setdefault((row.evaluator, row.partition_type), {})
            for prompt in prompts:
                name = str(prompt)
                if name in seen or len(seen) < MOST_VALUES:
                    seen[name] = min(seen.get(name, row.at), row.at)

    def _close_trace(self) -> None:
        """Count the last trace once: the likeliest of its evaluators to draw it says how likely it was to be seen."""
        if self._trace is None:
            return
        weight = 1 / self._inclusion
        self._traces.add(self._trace.facts, weight)
        day = self._trace.at.date().isoformat()
        pool = self._trace_days.get(day)
        if pool is None:
            pool = self._trace_days[day] = _TracePool()
        pool.add(self._trace.facts, weight)
        self._trace = None

    def traces(self) -> Traces:
        """Over all days."""
        return self._traces.result("all")

    def trace_days(self) -> tuple[Traces, ...]:
        """Day by day."""
        return tuple(pool.result(day) for day, pool in sorted(self._trace_days.items()))
