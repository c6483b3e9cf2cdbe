"""An interval with the level at which it is meant, and the normal quantile behind most of them."""

from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["LEVEL", "Interval", "two_sided_p", "z_of"]

LEVEL = 0.95
"""The level of every interval unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """`[low, high]`, in the unit of what it is about."""

    low: float
    high: float
    level: float = LEVEL
    """In (0, 1): how often such an interval covers the truth."""


def z_of(level: float) -> float:
    """The two-sided normal quantile of a level: 1.959964 for 0.95. Raises ValueError outside (0, 1)."""
    if not 0 < level < 1:
        raise ValueError("a level lies between 0 and 1")
    return NormalDist().inv_cdf((1 + level) / 2)


def two_sided_p(z: float) -> float:
    """Probability of a standard normal value at least as far from zero as `z`."""
    return 2 * NormalDist().cdf(-abs(z))
