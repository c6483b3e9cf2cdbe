"""The gate: does a candidate ship, given what the baseline did on the same cases?"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.spend import MICRO
from groundwire.scorer.stats import BootstrapEstimate, paired_bootstrap, pass_hat_k
from groundwire.scorer.suites.results import SuiteResults, TrialRow
from groundwire.scorer.suites.rules import GateConfig, RiseRule, ShareRule
from groundwire.scorer.suites.summary import SEED, Rate, Summary, summarise_trials, tally_cases

__all__ = ["GateCheck", "GateReport", "decide_gate", "require_comparable"]

Outcome = Literal["pass", "block", "unclear"]


class GateCheck(BaseModel):
    """What one rule found."""

    model_config = ConfigDict(frozen=True)

    rule: str
    outcome: Outcome
    message: str
    """One line."""
    baseline: float | None = None
    candidate: float | None = None


class GateReport(BaseModel):
    """What the gate says."""

    model_config = ConfigDict(frozen=True)

    suite: str
    version: str
    baseline: str
    """The baseline's target."""
    candidate: str
    checks: tuple[GateCheck, ...]
    unclear: Literal["pass", "block"]

    @property
    def blocking(self) -> tuple[GateCheck, ...]:
        """The checks that block."""
        bad = ("block", "unclear") if self.unclear == "block" else ("block",)
        return tuple(check for check in self.checks if check.outcome in bad)


def require_comparable(baseline: SuiteResults, candidate: SuiteResults) -> None:
    """Raise `ConfigError` with one line where the two results are not of the same cases, graded alike."""
    for what, one, other in (
        ("suites", baseline.suite, candidate.suite),
        ("versions of the suite", baseline.version, candidate.version),
        ("k of pass^k", baseline.k, candidate.k),
    ):
        if one != other:
            raise ConfigError(f"baseline and candidate are of different {what} ({one} and {other}); run both alike")
    gone, new = baseline.cases.keys() - candidate.cases.keys(), candidate.cases.keys() - baseline.cases.keys()
    if gone or new:
        lists = [
            f"{side}: {_some(names)}" for side, names in (("baseline only", gone), ("candidate only", new)) if names
        ]
        raise ConfigError(
            f"baseline and candidate are over different cases ({'; '.join(lists)}); run the baseline again"
        )
    changed = [case for case, digest in baseline.cases.items() if candidate.cases[case] != digest]
    if changed:
        raise ConfigError(f"these cases changed since the baseline: {_some(changed)}; run the baseline again")
    if baseline.fingerprint != candidate.fingerprint:
        raise ConfigError("baseline and candidate were graded or judged differently; run the baseline again")
    gated = {row.case for row in candidate.of("regression")}
    demoted = sorted({row.case for row in baseline.of("regression")} - gated)
    if demoted:
        raise ConfigError(
            f"these were regression cases in the baseline and are none now: {_some(demoted)}; run the baseline again"
        )
    for name, results in (("baseline", baseline), ("candidate", candidate)):
        if not results.of("regression"):
            raise ConfigError(f"{name}: there are no regression cases, so there is nothing to gate")


def _some(names: Sequence[str] | set[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:5]) + (f" and {len(ordered) - 5} more" if len(ordered) > 5 else "")


def decide_gate(baseline: SuiteResults, candidate: SuiteResults, config: GateConfig) -> GateReport:
    """Put a candidate's regression cases through the rules. Raises `ConfigError` as `require_comparable` does.

    Which cases are regression cases is as the candidate's results say; a rule whose figure is missing on either side
    blocks where the configuration asks for it.
    """
    require_comparable(baseline, candidate)
    names = {row.case for row in candidate.of("regression")}
    before = [row for row in baseline.rows if row.case in names]
    after = [row for row in candidate.rows if row.case in names]
    gate = _Gate(config=config, before=before, after=after, k=candidate.k)
    return GateReport(
        suite=candidate.suite,
        version=candidate.version,
        baseline=baseline.target,
        candidate=candidate.target,
        checks=tuple(gate.checks()),
        unclear=config.unclear,
    )


class _Gate:
    """One comparison."""

    def __init__(self, *, config: GateConfig, before: Sequence[TrialRow], after: Sequence[TrialRow], k: int) -> None:
        self.config = config
        self.before, self.after = before, after
        self.k = k
        self.old: Summary = summarise_trials(before, k=k)
        self.new: Summary = summarise_trials(after, k=k)

    def checks(self) -> list[GateCheck]:
        config = self.config
        found = [
            self._share("pass rate", config.pass_rate, self.old.pass_rate, self.new.pass_rate, _pass_shares),
            self._share(
                f"pass^{self.k}", config.pass_hat_k, self.old.pass_hat_k, self.new.pass_hat_k, self._hat_shares
            ),
            self._must_refuse(),
            self._share("judge score", config.judge_score, self.old.judge_score, self.new.judge_score, _judge_means),
            self._errors(),
            self._rise(
                "p50 latency", config.latency_p50, self.old.p50_seconds, self.new.p50_seconds, _seconds, _latency
            ),
            self._rise("p95 latency", config.latency_p95, self.old.p95_seconds, self.new.p95_seconds, _seconds, None),
            self._rise(
                "cost a task",
                config.cost,
                _dollars(self.old.micro_dollars_per_task),
                _dollars(self.new.micro_dollars_per_task),
                _usd,
                _cost,
            ),
        ]
        return [check for check in found if check is not None]

    def _must_refuse(self) -> GateCheck | None:
        if not self.config.must_refuse or not any(row.kind == "must_refuse" for row in self.after):
            return None
        answered = self.new.answered_must_refuse
        if answered:
            message = f"answered what must be refused: {', '.join(answered)}"
            return GateCheck(rule="must refuse", outcome="block", message=message)
        return GateCheck(rule="must refuse", outcome="pass", message="every must-refuse case was refused")

    def _errors(self) -> GateCheck | None:
        if self.config.errors is False:
            return None
        most = self.old.errors if self.config.errors is None else self.config.errors
        count = self.new.errors
        return GateCheck(
            rule="errors",
            outcome="block" if count > most else "pass",
            message=f"{count} of {len(self.after)} trials gave nothing to grade (allowed: {most})",
            baseline=self.old.errors,
            candidate=count,
        )

    def _share(
        self,
        name: str,
        rule: ShareRule | Literal[False],
        old: Rate | None,
        new: Rate | None,
        values: Callable[[Sequence[TrialRow]], dict[str, float]],
    ) -> GateCheck | None:
        if rule is False:
            return None
        if old is None or new is None:
            side = "baseline" if old is None else "candidate"
            return GateCheck(rule=name, outcome="block", message=f"{name} can't be told: the {side} has none")
        move = f"{name} {_verb(old.value, new.value, 'rose', 'fell')} {_percent(old.value)} to {_percent(new.value)}"
        if math.isclose(old.value, new.value):
            move = f"{name} stayed at {_percent(new.value)}"

        def check(outcome: Outcome, message: str) -> GateCheck:
            return GateCheck(rule=name, outcome=outcome, message=message, baseline=old.value, candidate=new.value)

        if rule.least is not None and new.value < rule.least:
            return check("block", f"{name} is {_percent(new.value)}, below {_percent(rule.least)}")
        if self.config.method == "bootstrap":
            found, n = self._paired(values, lambda before, after: after - before)
            low, high = found.interval.low, found.interval.high
            shown = f"{_points(found.value)}, {found.interval.level:.0%} interval {_points(low)} to {_points(high)}"
            if high < -rule.tolerance - _EPSILON:
                return check("block", f"{move} ({shown})")
            if low >= -rule.tolerance - _EPSILON:
                return check("pass", f"{move} ({shown})")
            return check("unclear", f"{move}, but {n} cases are too few to tell ({shown})")
        allowed = f" (tolerance {_points(rule.tolerance).lstrip('+')})" if rule.tolerance else ""
        fell = new.value < old.value - rule.tolerance - _EPSILON
        return check("block" if fell else "pass", move + (allowed if new.value < old.value else ""))

    def _rise(
        self,
        name: str,
        rule: RiseRule | Literal[False],
        old: float | None,
        new: float | None,
        written: Callable[[float], str],
        values: Callable[[Sequence[TrialRow]], dict[str, float]] | None,
    ) -> GateCheck | None:
        if rule is False:
            return None
        if new is None or (old is None and rule.rise is not None):
            side = "candidate" if new is None else "baseline"
            return GateCheck(rule=name, outcome="block", message=f"{name} can't be told: the {side} has none")

        def check(outcome: Outcome, message: str) -> GateCheck:
            return GateCheck(rule=name, outcome=outcome, message=message, baseline=old, candidate=new)

        if rule.most is not None and new > rule.most + _EPSILON:
            return check("block", f"{name} is {written(new)}, above {written(rule.most)}")
        if rule.rise is None or old is None:
            return check("pass", f"{name} is {written(new)}")
        ceiling = 1 + rule.rise
        move = f"{name} went from {written(old)} to {written(new)} (allowed: {written(old * ceiling)})"
        if self.config.method == "bootstrap" and values is not None:
            found, n = self._paired(values, lambda before, after: after - before * ceiling)
            low, high = found.interval.low, found.interval.high
            if low > _EPSILON:
                return check("block", f"{move}; beyond it over the cases by {written(low)} or more")
            if high <= _EPSILON:
                return check("pass", move)
            return check("unclear", f"{move}, but {n} cases are too few to tell")
        return check("block" if new > old * ceiling + _EPSILON else "pass", move)

    def _hat_shares(self, rows: Sequence[TrialRow]) -> dict[str, float]:
        return {
            case.case: pass_hat_k(self.k, trials=case.graded, passed=case.passed)
            for case in tally_cases(rows)
            if case.graded >= self.k
        }

    def _paired(
        self, values: Callable[[Sequence[TrialRow]], dict[str, float]], difference: Callable[[float, float], float]
    ) -> tuple[BootstrapEstimate, int]:
        """The interval of a difference over the cases that both sides have a value for."""
        before, after = values(self.before), values(self.after)
        both = [case for case in before if case in after]
        differences = [difference(before[case], after[case]) for case in both]
        zeros = [0.0] * len(both)
        return paired_bootstrap(zeros, differences, seed=SEED, level=self.config.confidence), len(both)


_EPSILON = 1e-9
"""Below this two figures are equal: means of trials are sums of floats."""


def _pass_shares(rows: Sequence[TrialRow]) -> dict[str, float]:
    return {case.case: case.passed / case.graded for case in tally_cases(rows) if case.graded}


def _means(rows: Sequence[TrialRow], value: Callable[[TrialRow], float | None]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for row in rows:
        if (one := value(row)) is not None and row.reason != "target_error":
            found.setdefault(row.case, []).append(one)
    return {case: sum(ones) / len(ones) for case, ones in found.items()}


def _judge_means(rows: Sequence[TrialRow]) -> dict[str, float]:
    return _means(rows, lambda row: row.judge.score if row.judge is not None else None)


def _latency(rows: Sequence[TrialRow]) -> dict[str, float]:
    return _means(rows, lambda row: row.latency_seconds)


def _cost(rows: Sequence[TrialRow]) -> dict[str, float]:
    return _means(rows, lambda row: _dollars(row.micro_dollars))


def _dollars(micro_dollars: float | None) -> float | None:
    return None if micro_dollars is None else micro_dollars / MICRO


def _verb(old: float, new: float, up: str, down: str) -> str:
    return f"{up if new > old else down} from"


def _percent(value: float) -> str:
    return f"{value:.1%}".replace(".0%", "%")


def _points(value: float) -> str:
    """`−12.5 points`, with a sign unless it is none."""
    text = f"{100 * value:+.1f}".removesuffix(".0")
    return ("0" if text in ("+0", "-0") else text.replace("-", "−")) + " points"


def _seconds(value: float) -> str:
    return f"{value:.2f} s"


def _usd(value: float) -> str:
    return f"${value:.5f}"
