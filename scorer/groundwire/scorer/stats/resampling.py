"""The bootstrap over cases (Efron 1979): an interval for what repeated drawing of the cases would give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundwire.scorer.stats.interval import LEVEL, Interval

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

__all__ = ["RESAMPLES", "BootstrapEstimate", "bootstrap", "paired_bootstrap", "quantile"]

RESAMPLES = 9_999
"""Resamples of a bootstrap; with 9,999 the ends of a 95 % interval stand still to about a hundredth of its width."""

_CELLS = 4_000_000
"""Numbers held at once, so that memory doesn't grow with cases times resamples."""


@dataclass(frozen=True, kw_only=True)
class BootstrapEstimate:
    """A statistic of the cases as they are, with its percentile interval."""

    value: float
    interval: Interval
    n: int
    """Cases."""


def bootstrap(
    values: Sequence[float],
    *,
    seed: int,
    statistic: "Callable[[Array], Array] | None" = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> BootstrapEstimate:
    """A statistic of one number a case (their mean unless told otherwise), with its percentile bootstrap interval.

    `statistic` takes an array of shape (…, cases) and reduces its last axis. The same seed gives the same interval.
    Repeated trials of one case are no cases of their own: hand in their mean. Raises ValueError without values.
    """
    import numpy as np

    cases = np.asarray(values, dtype=float)
    if cases.ndim != 1 or not cases.size:
        raise ValueError("a bootstrap needs at least one case")
    if not np.isfinite(cases).all():
        raise ValueError("a bootstrap needs finite numbers")
    reduce = statistic or _mean
    random = np.random.default_rng(seed)
    n = cases.size
    batch = max(1, _CELLS // n)
    drawn = np.empty(resamples)
    for start in range(0, resamples, batch):
        stop = min(start + batch, resamples)
        drawn[start:stop] = reduce(cases[random.integers(0, n, (stop - start, n))])
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return BootstrapEstimate(
        value=float(reduce(cases)), interval=Interval(low=float(low), high=float(high), level=level), n=n
    )


def paired_bootstrap(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> BootstrapEstimate:
    """The mean of candidate minus baseline over the same cases in the same order, with its interval.

    Raises ValueError where the two differ in length.
    """
    if len(baseline) != len(candidate):
        raise ValueError("a paired bootstrap needs the same cases on both sides")
    differences = [after - before for before, after in zip(baseline, candidate, strict=True)]
    return bootstrap(differences, seed=seed, resamples=resamples, level=level)


def _mean(cases: "Array") -> "Array":
    result: Array = cases.mean(axis=-1)
    return result


def quantile(values: "Sequence[float] | Array", share: float) -> float:
    """The quantile at `share` in [0, 1], between neighbours by linear interpolation.

    Raises ValueError without values.
    """
    import numpy as np

    if not len(values):
        raise ValueError("a quantile needs at least one value")
    return float(np.quantile(np.asarray(values, dtype=float), share))
