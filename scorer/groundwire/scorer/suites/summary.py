"""What the rows of a suite add up to: pass rate, pass@k, pass^k with intervals, latency, cost, the judge's scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from groundwire.scorer.spend import Usage
from groundwire.scorer.stats import Interval, bootstrap, pass_at_k, pass_hat_k, quantile, wilson_interval
from groundwire.scorer.suites.results import TrialRow

__all__ = ["CaseTally", "Rate", "Summary", "summarise_trials", "tally_cases"]

SEED = 0
"""Of the bootstrap: the same rows give the same interval."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A mean over cases with its 95 % interval."""

    value: float
    interval: Interval
    cases: int
    """Cases that it is the mean of."""


@dataclass(frozen=True, kw_only=True)
class CaseTally:
    """The trials of one case."""

    case: str
    graded: int
    """Trials with a grade; the others ended in an error and are no failures."""
    passed: int
    trials: int


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One purpose's rows, added up."""

    cases: tuple[CaseTally, ...]
    """In the order of the rows."""
    k: int
    pass_rate: Rate | None
    """Mean over the cases of the share of their graded trials that passed; None without a graded trial."""
    pass_at_k: Rate | None
    """Probability that at least one of k trials passes; None where no case has k graded trials."""
    pass_hat_k: Rate | None
    """Probability that all of k trials pass."""
    left_out: tuple[str, ...]
    """Cases with fewer than k graded trials, of which pass@k and pass^k say nothing."""
    errors: int
    """Trials without a grade."""
    p50_seconds: float | None
    """Median latency of the trials that finished."""
    p95_seconds: float | None
    micro_dollars_per_task: float | None
    """What all trials cost over how many of them finished, in micro-dollars; None where a finished one's cost isn't
    known."""
    usage: Usage
    """The target's tokens over all trials, each in one bucket."""
    judge_score: Rate | None
    """Mean over the cases of the judge's mean score."""
    judge_usage: Usage
    """The judge's own spending."""
    answered_must_refuse: tuple[str, ...]
    """Cases that must be refused and weren't, in at least one trial."""


def tally_cases(rows: Sequence[TrialRow]) -> tuple[CaseTally, ...]:
    """How often each case passed."""
    by_case: dict[str, list[TrialRow]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    return tuple(
        CaseTally(
            case=case,
            graded=sum(row.passed is not None for row in found),
            passed=sum(row.passed is True for row in found),
            trials=len(found),
        )
        for case, found in by_case.items()
    )


def summarise_trials(rows: Sequence[TrialRow], *, k: int) -> Summary:
    """Add up rows of one purpose. Where every case has k trials, pass@k and pass^k are plain shares of the cases."""
    cases = tally_cases(rows)
    graded = [case for case in cases if case.graded]
    enough = [case for case in cases if case.graded >= k]
    finished = [row for row in rows if row.reason != "target_error"]
    latencies = [row.latency_seconds for row in finished if row.latency_seconds is not None]
    return Summary(
        cases=cases,
        k=k,
        pass_rate=_rate([case.passed / case.graded for case in graded]),
        pass_at_k=_rate([_estimate(pass_at_k, case, k) for case in enough]),
        pass_hat_k=_rate([_estimate(pass_hat_k, case, k) for case in enough]),
        left_out=tuple(case.case for case in cases if case.graded < k),
        errors=sum(row.passed is None for row in rows),
        p50_seconds=quantile(latencies, 0.5) if latencies else None,
        p95_seconds=quantile(latencies, 0.95) if latencies else None,
        micro_dollars_per_task=_per_task(rows, finished),
        usage=sum((row.usage for row in rows if row.usage is not None), Usage()),
        judge_score=_rate(_judge_means(rows)),
        judge_usage=sum((row.judge.usage for row in rows if row.judge is not None), Usage()),
        answered_must_refuse=tuple(
            dict.fromkeys(row.case for row in rows if row.kind == "must_refuse" and row.passed is False)
        ),
    )


def _estimate(estimator: Callable[..., float], case: CaseTally, k: int) -> float:
    return estimator(k, trials=case.graded, passed=case.passed)


def _rate(values: Sequence[float]) -> Rate | None:
    """The mean with Wilson's interval where every case is all or nothing, else with the bootstrap's over cases."""
    if not values:
        return None
    n = len(values)
    if all(value in (0.0, 1.0) for value in values):
        return Rate(value=sum(values) / n, interval=wilson_interval(sum(values), n), cases=n)
    found = bootstrap(values, seed=SEED)
    return Rate(value=found.value, interval=found.interval, cases=n)


def _per_task(rows: Sequence[TrialRow], finished: Sequence[TrialRow]) -> float | None:
    if not finished or any(row.micro_dollars is None for row in finished):
        return None
    return sum(row.micro_dollars or 0 for row in rows) / len(finished)


def _judge_means(rows: Sequence[TrialRow]) -> list[float]:
    by_case: dict[str, list[float]] = {}
    for row in rows:
        if row.judge is not None and row.judge.score is not None:
            by_case.setdefault(row.case, []).append(row.judge.score)
    return [sum(scores) / len(scores) for scores in by_case.values()]
