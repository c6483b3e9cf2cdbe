"""What agreement hides: whether the judge repeats itself, and whether order or length sways it."""

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal

from pydantic import BaseModel, ConfigDict

from groundwire.jobs.calibration.labels import verdict_of
from groundwire.jobs.calibration.twins import TwinJudge, shuffled
from groundwire.jobs.scoring import Outcome, score_partitions
from groundwire.scorer import (
    BootstrapEstimate,
    ConfigError,
    Interval,
    Judge,
    Material,
    Metric,
    Partition,
    Row,
    bootstrap,
    wilson_interval,
)

__all__ = ["FEWEST_PROBED", "Bias", "OpenJudge", "Probes", "Retest", "require_budget", "run_probes"]

FEWEST_PROBED = 10
"""Least number of partitions that a probe decides on."""
TOLERATED_FLIPS = 0.02
"""Share of rows whose verdict may change from call to call before the judge is called unsteady."""
LEAST_EFFECT = 0.01
"""Mean effect on the score below which a bias isn't worth naming, in [0, 1]."""
SEED = 20_261_201

OpenJudge = Callable[[], AbstractAsyncContextManager[Judge]]
"""Opens the judge anew, with no memory of what it said before."""


class Retest(BaseModel):
    """The same asked again, with the cache bypassed."""

    model_config = ConfigDict(frozen=True)

    n: int
    """Rows that were decided every time."""
    repeats: int
    flipped: int
    """Rows whose verdict was not the same every time."""
    flipped_interval: Interval
    """Wilson's, of their share."""
    spread: float
    """Mean distance of two judgements of the same row, in [0, 1]: of the scores, or the share of claims that differ."""
    found: bool
    """Whether the judge is unsteady: the low end of the interval is above 2 %."""


class Bias(BaseModel):
    """The same asked in another dress, against the same asked again as it was."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["position", "verbosity"]
    n: int
    flipped: int
    """Rows whose verdict changed."""
    effect: float
    """`position`: how much further the judgement moves than between two plain calls. `verbosity`: how much better (or,
    below zero, worse) an answer fares for being longer. In [-1, 1]."""
    interval: Interval
    """Bootstrap over rows."""
    found: bool


class Probes(BaseModel):
    """What the probes found, and what they cost."""

    model_config = ConfigDict(frozen=True)

    retest: Retest
    position: Bias | None
    """None where fewer than ten rows have evidence that can be put in another order."""
    verbosity: Bias
    micro_dollars: int
    calls: int


async def run_probes(
    partitions: Sequence[Partition],
    metric: Metric,
    open_judge: OpenJudge,
    *,
    repeats: int,
    run_id: str,
    evaluator: str = "",
) -> Probes:
    """Judge the partitions `repeats` times as they are, once with the evidence shuffled, once with padded claims.

    Raises `ConfigError` for fewer than ten partitions or two repeats, or where too few could be decided.
    """
    if len(partitions) < FEWEST_PROBED:
        raise ConfigError(f"{len(partitions)} labelled answers could be read, a probe needs at least {FEWEST_PROBED}")
    if repeats < 2:
        raise ConfigError("--repeats: the same must be asked at least twice")
    passes = []
    for shuffle, pad in (*[(None, False)] * repeats, (SEED, False), (None, True)):
        async with open_judge() as judge:
            twin = TwinJudge(judge=judge, shuffle=shuffle, pad=pad, evaluator=evaluator)
            passes.append(await _judged(partitions, metric, twin, run_id))
    plain, moved, longer = passes[:repeats], passes[repeats], passes[repeats + 1]
    every = [row for one in passes for row in one]
    movable = [index for index, partition in enumerate(partitions) if _movable(metric, partition)]
    return Probes(
        retest=_retest(plain),
        position=_position(plain, moved, movable) if len(movable) >= FEWEST_PROBED else None,
        verbosity=_verbosity(plain, longer),
        micro_dollars=sum(row.usage.micro_dollars for row in every),
        calls=sum(row.usage.calls for row in every),
    )


async def _judged(partitions: Sequence[Partition], metric: Metric, judge: Judge, run_id: str) -> list[Row]:
    outcomes = score_partitions(iter(partitions), metric.judged_by(judge), at_once=8, run_id=run_id)
    rows = [outcome.row async for outcome in outcomes if isinstance(outcome, Outcome)]
    require_budget(rows)
    return rows


def require_budget(rows: Sequence[Row]) -> None:
    """Raise `ConfigError` where a cap left some of them unjudged."""
    unpaid = sum(row.reason == "over_budget" for row in rows)
    if unpaid:
        raise ConfigError(f"the budget was spent with {unpaid} of {len(rows)} answers to go; give more by --max-usd")


def _movable(metric: Metric, partition: Partition) -> bool:
    """Whether its evidence can be put in another order; a transcript has one order only."""
    material = metric.material(partition)
    if not isinstance(material, Material) or material.transcript:
        return False
    return shuffled(material.view, seed=SEED) != material.view


def _goodness(row: Row) -> float | None:
    """The score with 1 at the good end."""
    if row.status != "scored" or row.score is None:
        return None
    return row.score if row.direction == "higher_is_better" else 1 - row.score


def _apart(one: Row, other: Row) -> float:
    """How far two decided judgements of a row are apart, in [0, 1]: of their scores, or of the claims they share.

    Two rows can have one score for different reasons; the share of claims whose verdict differs then tells.
    """
    left, right = _claims(one), _claims(other)
    shared = left.keys() & right.keys()
    differing = sum(left[key] != right[key] for key in shared) / len(shared) if shared else 0.0
    return max(differing, abs((_goodness(one) or 0.0) - (_goodness(other) or 0.0)))


def _claims(row: Row) -> dict[tuple[int, int], bool]:
    """Whether each labelled claim is hallucinated, by its place in the answer."""
    return {
        (claim.start, claim.end): claim.label == "hallucinated"
        for claim in row.claims
        if claim.label is not None and claim.start is not None and claim.end is not None
    }


def _flipped(rows: Sequence[Row]) -> bool:
    said = [verdict_of(row) for row in rows]
    if any(verdict is None for verdict in said):
        return len({_goodness(row) for row in rows}) > 1
    return len(set(said)) > 1


def _decided(rows: Sequence[Row]) -> bool:
    return all(_goodness(row) is not None for row in rows)


def _enough(n: int) -> None:
    if n < FEWEST_PROBED:
        raise ConfigError(f"the judge decided {n} of the rows every time, a probe needs at least {FEWEST_PROBED}")


def _retest(plain: Sequence[Sequence[Row]]) -> Retest:
    rows = [same for same in zip(*plain, strict=True) if _decided(same)]
    _enough(len(rows))
    flipped = sum(_flipped(same) for same in rows)
    spreads = [_mean([_apart(a, b) for a, b in itertools.combinations(same, 2)]) for same in rows]
    interval = wilson_interval(flipped, len(rows))
    return Retest(
        n=len(rows),
        repeats=len(plain),
        flipped=flipped,
        flipped_interval=interval,
        spread=_mean(spreads),
        found=interval.low > TOLERATED_FLIPS,
    )


def _position(plain: Sequence[Sequence[Row]], moved: Sequence[Row], movable: Sequence[int]) -> Bias:
    """Distance of the shuffled judgement from the plain ones, less the distance of the plain ones among themselves."""
    effects, flipped = [], 0
    for index in movable:
        same = [one[index] for one in plain]
        if not _decided((*same, moved[index])):
            continue
        across = _mean([_apart(row, moved[index]) for row in same])
        within = _mean([_apart(a, b) for a, b in itertools.combinations(same, 2)])
        effects.append(across - within)
        flipped += _flipped((same[0], moved[index]))
    _enough(len(effects))
    estimate = bootstrap(effects, seed=SEED)
    return _bias("position", estimate, flipped, found=estimate.interval.low > 0 and estimate.value >= LEAST_EFFECT)


def _verbosity(plain: Sequence[Sequence[Row]], longer: Sequence[Row]) -> Bias:
    effects, flipped = [], 0
    for same, twin in zip(zip(*plain, strict=True), longer, strict=True):
        if not _decided((*same, twin)):
            continue
        effects.append((_goodness(twin) or 0.0) - _mean([_goodness(row) or 0.0 for row in same]))
        flipped += _flipped((same[0], twin))
    _enough(len(effects))
    estimate = bootstrap(effects, seed=SEED)
    clear = not estimate.interval.low <= 0 <= estimate.interval.high
    return _bias("verbosity", estimate, flipped, found=clear and abs(estimate.value) >= LEAST_EFFECT)


def _bias(kind: Literal["position", "verbosity"], estimate: BootstrapEstimate, flipped: int, *, found: bool) -> Bias:
    return Bias(
        kind=kind, n=estimate.n, flipped=flipped, effect=estimate.value, interval=estimate.interval, found=found
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
