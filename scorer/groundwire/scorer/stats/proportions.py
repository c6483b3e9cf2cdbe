"""Proportions with intervals, from plain counts and from samples drawn with unequal probability, and how two differ.

The weighted estimate is Hájek's (1971): the mean of the outcomes weighted by the inverse of their inclusion
probability. Its variance is the linearised one for clusters (Särndal, Swensson and Wretman 1992, §5.7), here with the
trace as the cluster, since traces are what is sampled. Its interval is Wilson's (1927) at the effective sample size
that this variance implies (Kish 1965; Korn and Graubard 1998), so that it stays within [0, 1] and has a width at 0 and
at 1. Equal probabilities give Wilson's interval on the plain counts.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from groundwire.scorer.stats.interval import LEVEL, Interval, two_sided_p, z_of

__all__ = [
    "Comparison",
    "Proportion",
    "WeightedTally",
    "compare_proportions",
    "weighted_proportion",
    "weighted_tally",
    "wilson_interval",
]

FEW = 5.0
"""Least expected count in each of four cells for the normal approximation to be worth quoting (Cochran 1954)."""


def wilson_interval(successes: float, n: float, *, level: float = LEVEL) -> Interval:
    """Wilson's (1927) score interval, within [0, 1]; `n` may be an effective size. Raises ValueError for n ≤ 0."""
    if n <= 0 or not 0 <= successes <= n:
        raise ValueError("an interval needs n > 0 and 0 ≤ successes ≤ n")
    z = z_of(level)
    p = successes / n
    scale = 1 + z * z / n
    middle = (p + z * z / (2 * n)) / scale
    reach = z / scale * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else middle - reach
    return Interval(low=low, high=1.0 if successes == n else middle + reach, level=level)


@dataclass(frozen=True, kw_only=True)
class WeightedTally:
    """The sums from which a weighted proportion follows; they add up, so they can be made anywhere, a database too.

    A cluster is what was drawn as one: with A its weighted positives and B its weight, `aa`, `ab` and `bb` are the
    sums over clusters of A·A, A·B and B·B.
    """

    n: int
    """Cases."""
    positives: int
    """Cases with the property, unweighted."""
    clusters: int
    a: float
    b: float
    aa: float
    ab: float
    bb: float

    def __add__(self, other: "WeightedTally") -> "WeightedTally":
        """Of two sets of clusters that share none."""
        names = ("n", "positives", "clusters", "a", "b", "aa", "ab", "bb")
        return WeightedTally(**{name: getattr(self, name) + getattr(other, name) for name in names})


def weighted_tally(outcomes: Iterable[tuple[bool, float, object]]) -> WeightedTally:
    """The sums of `(positive?, inclusion probability, cluster)`; the cluster is any hashable.

    Raises ValueError for a probability outside (0, 1].
    """
    n = positives = 0
    sums: dict[object, tuple[float, float]] = {}
    for positive, probability, cluster in outcomes:
        if not 0 < probability <= 1:
            raise ValueError("an inclusion probability lies in (0, 1]")
        n += 1
        positives += positive
        a, b = sums.get(cluster, (0.0, 0.0))
        sums[cluster] = (a + positive / probability, b + 1 / probability)
    return WeightedTally(
        n=n,
        positives=positives,
        clusters=len(sums),
        a=math.fsum(a for a, _ in sums.values()),
        b=math.fsum(b for _, b in sums.values()),
        aa=math.fsum(a * a for a, _ in sums.values()),
        ab=math.fsum(a * b for a, b in sums.values()),
        bb=math.fsum(b * b for _, b in sums.values()),
    )


@dataclass(frozen=True, kw_only=True)
class Proportion:
    """A share of cases, with its interval."""

    value: float
    """In [0, 1]."""
    interval: Interval
    n: int
    """Cases it rests on."""
    effective: float
    """The size of the plain random sample that would tell as much; at most `n`."""
    total: float
    """Positive cases in all that were there, sampled or not (Horvitz and Thompson 1952)."""
    standard_error: float
    """Linearised; 0 where all cases are alike, which the interval is not misled by."""


def weighted_proportion(sums: WeightedTally, *, level: float = LEVEL) -> Proportion | None:
    """Hájek's weighted proportion (see the module); None without cases."""
    if sums.n == 0:
        return None
    p = min(1.0, max(0.0, sums.a / sums.b))
    if sums.positives in (0, sums.n):
        p = 1.0 if sums.positives else 0.0
    variance = max(0.0, sums.aa - 2 * p * sums.ab + p * p * sums.bb) / sums.b**2
    spread = p * (1 - p)
    effective = spread / variance if variance > 1e-12 * spread else sums.b**2 / sums.bb
    effective = min(effective, float(sums.n))
    interval = wilson_interval(p * effective, effective, level=level)
    return Proportion(
        value=p, interval=interval, n=sums.n, effective=effective, total=sums.a, standard_error=math.sqrt(variance)
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How a proportion moved from one set to another."""

    difference: float
    """Second minus first, in [-1, 1]."""
    interval: Interval
    """Newcombe's (1998) hybrid of the two Wilson intervals."""
    z: float
    p: float
    """Two-sided, of the pooled test that both are equal; 1.0 where both are 0 or both are 1."""
    enough: bool
    """False where an expected count is below 5: then the test says nothing either way."""


def compare_proportions(first: Proportion, second: Proportion) -> Comparison:
    """Test whether two proportions of disjoint sets differ, at their effective sizes. Both need the same level."""
    pooled = (first.value * first.effective + second.value * second.effective) / (first.effective + second.effective)
    error = math.sqrt(pooled * (1 - pooled) * (1 / first.effective + 1 / second.effective))
    difference = second.value - first.value
    z = difference / error if error else 0.0
    one, two = first.interval, second.interval
    down = math.hypot(second.value - two.low, one.high - first.value)
    up = math.hypot(two.high - second.value, first.value - one.low)
    smallest = min(pooled, 1 - pooled) * min(first.effective, second.effective)
    return Comparison(
        difference=difference,
        interval=Interval(low=difference - down, high=difference + up, level=two.level),
        z=z,
        p=two_sided_p(z),
        enough=smallest >= FEW,
    )
