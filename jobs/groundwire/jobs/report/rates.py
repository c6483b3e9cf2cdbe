"""Rates that can be quoted: what share is hallucinated, weighted and with intervals, and what was not looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from pydantic import JsonValue

from groundwire.scorer import Comparison, Interval, Proportion

__all__ = [
    "Break",
    "Cut",
    "Dimension",
    "Drift",
    "Group",
    "Rate",
    "RatesReport",
    "Spent",
    "Traces",
    "rate_words",
    "statuses_words",
]

Dimension = Literal["environment", "model", "prompt", "release", "tag"]
"""What the application was: its environment, the models it called, its prompts' versions, its release, its tags."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Some rows of one group."""

    value: str
    """What they have in common: a day, a model, a tag, …"""
    rows: int
    hallucinated: Proportion | None
    """Share with a hallucinated claim, of the rows with a verdict, weighted by the inverse of their inclusion
    probability; None where no row has a verdict."""
    score: float | None
    """Mean score, weighted alike; None where nothing was scored."""
    statuses: Mapping[str, int]
    """Rows by status, with the reason behind a colon where there is one."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The last seven days against the seven before."""

    before: Proportion | None
    now: Proportion | None
    comparison: Comparison | None
    """None where either week has no verdict."""

    @property
    def words(self) -> str:
        """What can be said."""
        if self.comparison is None or self.before is None or self.now is None:
            return "no verdicts in one of the two weeks"
        if not self.comparison.enough:
            return "too few hallucinated or grounded rows to tell"
        if self.comparison.p >= 0.05:
            return "no change that chance wouldn't explain"
        return "rose" if self.comparison.difference > 0 else "fell"

    @property
    def p_words(self) -> str:
        """The test's p in brackets, or nothing where it says nothing."""
        if self.comparison is None or not self.comparison.enough:
            return ""
        return " (p < 0.001)" if self.comparison.p < 0.001 else f" (p = {self.comparison.p:.3f})"


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rows that may be pooled: one evaluator, metric version, partition type and configuration."""

    evaluator: str
    metric: str
    metric_version: str
    partition_type: str
    config_fingerprint: str
    judge: Mapping[str, JsonValue]
    first: datetime
    last: datetime
    overall: Rate
    days: tuple[Rate, ...]
    by: Mapping[Dimension, tuple[Rate, ...]]
    drift: Drift
    calibration: str
    """What is known of the judge's agreement with people, in one line."""
    calibration_stale: bool

    @property
    def judge_name(self) -> str:
        """Kind and model."""
        return f"{self.judge.get('kind', 'no judge')} {self.judge.get('model', '')}".strip()


@dataclass(frozen=True, kw_only=True)
class Break:
    """Where an evaluator's series can't be read on."""

    evaluator: str
    partition_type: str
    at: datetime
    what: str
    """`judge: gpt-5 → gpt-5-mini`, `judge's prompts`, `configuration`, or `prompt: answer@4` of the application."""


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A stretch of time that wasn't covered."""

    evaluator: str
    """Empty for all of a source's."""
    why: str
    start: datetime
    end: datetime
    skipped: int
    """Partitions known to be skipped; 0 where nobody can know."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What one evaluator spent in windows of one length."""

    whose: str
    per: str
    windows: int
    micro_dollars: int
    cap: int | None
    """Micro-dollars a window, as last applied; None where there is none."""
    at_cap: int
    """Windows that were full: what came after was skipped or had to wait."""


@dataclass(frozen=True, kw_only=True)
class Traces:
    """The application's own figures, from the traces that were judged, each trace once."""

    value: str
    """What they have in common: a day, or `all`."""
    n: int
    cost: float | None
    """US dollars a trace, weighted; None where no trace tells its cost."""
    with_cost: int
    p50: float | None
    p95: float | None
    """Seconds from the first start to the last end."""
    tokens: Mapping[str, float]
    """Tokens a trace by type, weighted; each token stands in one type only."""
    with_tokens: int


@dataclass(frozen=True, kw_only=True)
class RatesReport:
    """Everything `groundwire report` says."""

    since: datetime
    until: datetime
    made_at: datetime
    groups: tuple[Group, ...]
    breaks: tuple[Break, ...]
    cuts: tuple[Cut, ...]
    not_judged: Mapping[str, Mapping[str, int]]
    """By evaluator: traces that left no row, by reason (`sampled_out`, `filtered`, `no_fact_check_needed`)."""
    spent: tuple[Spent, ...]
    traces: Traces
    trace_days: tuple[Traces, ...]

    def days_cut(self, evaluator: str) -> set[date]:
        """The days, within the report, on which something of an evaluator was not covered."""
        found: set[date] = set()
        for cut in self.cuts:
            if cut.evaluator in ("", evaluator):
                day = cut.start.date()
                while day <= cut.end.date():
                    found.add(day)
                    day = date.fromordinal(day.toordinal() + 1)
        return found


def _interval_words(interval: Interval) -> str:
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def rate_words(proportion: Proportion | None) -> str:
    """A rate with its interval: `12.5 % (8.1 to 18.7 %)`; a dash where there is none."""
    if proportion is None:
        return "–"
    return f"{100 * proportion.value:.1f} % ({_interval_words(proportion.interval)})"


def statuses_words(statuses: Mapping[str, int], of: Sequence[str] = ("unknown", "invalid", "skipped", "error")) -> str:
    """What has no score, by status."""
    sums = {status: sum(n for name, n in statuses.items() if name.split(":")[0] == status) for status in of}
    return ", ".join(f"{n:,} {status}" for status, n in sums.items() if n) or "–"
