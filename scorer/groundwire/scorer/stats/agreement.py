"""Agreement of two raters: confusion table, Cohen's kappa with its interval, weighted kappa, precision and recall.

The first rater is the reference (people), the second is under test (the judge).
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from groundwire.scorer.stats.interval import LEVEL, Interval, z_of
from groundwire.scorer.stats.proportions import wilson_interval

__all__ = [
    "Confusion",
    "Kappa",
    "PrecisionRecall",
    "Threshold",
    "best_threshold",
    "cohen_kappa",
    "precision_recall",
    "weighted_kappa",
]


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """How often each label of the reference met each label of the rater under test."""

    labels: tuple[str, ...]
    """Sorted; those that either rater gave, and any that were asked for."""
    counts: tuple[tuple[int, ...], ...]
    """`counts[i][j]`: cases where the reference said `labels[i]` and the other `labels[j]`."""

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]], *, labels: Sequence[str] = ()) -> "Confusion":
        """The table of `(reference, other)` pairs."""
        names = tuple(sorted({*labels, *(name for pair in pairs for name in pair)}))
        met = Counter(pairs)
        return cls(labels=names, counts=tuple(tuple(met[left, right] for right in names) for left in names))

    @property
    def n(self) -> int:
        """Cases in all."""
        return sum(map(sum, self.counts))


@dataclass(frozen=True, kw_only=True)
class Kappa:
    """Agreement beyond chance."""

    n: int
    agreement: float
    """Share of cases on which both agree, in [0, 1]; weighted, 1 - mean squared distance / greatest."""
    value: float | None
    """In [-1, 1]; None where it is undefined, because both raters gave one and the same label throughout."""
    interval: Interval | None
    """None with the value."""


def cohen_kappa(table: Confusion, *, level: float = LEVEL) -> Kappa:
    """Cohen's (1960) kappa of labels: all disagreements weigh alike.

    Its interval is the large-sample one of Fleiss, Cohen and Everitt (1969), cut to [-1, 1]. That has no width where
    the raters agree on every case; there the low end is Wilson's bound on agreement, corrected for the chance agreement
    that was seen. Raises ValueError for an empty table.
    """
    size = range(len(table.labels))
    return _kappa(table.counts, [[float(i == j) for j in size] for i in size], level)


def weighted_kappa(pairs: Sequence[tuple[float, float]], *, level: float = LEVEL) -> Kappa:
    """Cohen's (1968) weighted kappa of `(reference, other)` numbers, with quadratic weights.

    A disagreement weighs as the square of how far apart the numbers are, whatever their spacing. The interval is made
    as `cohen_kappa` makes it. Raises ValueError where there are no pairs, or where a number isn't finite.
    """
    if not all(math.isfinite(number) for pair in pairs for number in pair):
        raise ValueError("agreement needs finite numbers")
    values = sorted({number for pair in pairs for number in pair})
    span = values[-1] - values[0] if values else 0.0
    met = Counter(pairs)
    return _kappa(
        [[met[left, right] for right in values] for left in values],
        [[1 - ((left - right) / span) ** 2 if span else 1.0 for right in values] for left in values],
        level,
    )


def _kappa(counts: Sequence[Sequence[int]], weights: Sequence[Sequence[float]], level: float) -> Kappa:
    """Of a table and the credit, in [0, 1], that each of its cells earns."""
    n = sum(map(sum, counts))
    if n == 0:
        raise ValueError("agreement needs at least one case")
    size = range(len(counts))
    cells = [(i, j) for i in size for j in size]
    share = [[count / n for count in row] for row in counts]
    first = [math.fsum(row) for row in share]
    second = [math.fsum(share[i][j] for i in size) for j in size]
    agreement = math.fsum(share[i][j] * weights[i][j] for i, j in cells)
    chance = math.fsum(first[i] * second[j] * weights[i][j] for i, j in cells)
    if math.isclose(chance, 1.0, abs_tol=1e-12):
        return Kappa(n=n, agreement=agreement, value=None, interval=None)
    value = (agreement - chance) / (1 - chance)
    if sum(counts[i][i] for i in size) == n:
        low = (wilson_interval(n, n, level=level).low - chance) / (1 - chance)
        return Kappa(n=n, agreement=1.0, value=1.0, interval=Interval(low=max(-1.0, low), high=1.0, level=level))
    rows = [math.fsum(second[j] * weights[i][j] for j in size) for i in size]
    columns = [math.fsum(first[i] * weights[i][j] for i in size) for j in size]
    spread = math.fsum(share[i][j] * (weights[i][j] - (rows[i] + columns[j]) * (1 - value)) ** 2 for i, j in cells)
    variance = (spread - (value - chance * (1 - value)) ** 2) / (n * (1 - chance) ** 2)
    reach = z_of(level) * math.sqrt(max(variance, 0.0))
    interval = Interval(low=max(-1.0, value - reach), high=min(1.0, value + reach), level=level)
    return Kappa(n=n, agreement=agreement, value=value, interval=interval)


@dataclass(frozen=True, kw_only=True)
class PrecisionRecall:
    """How well one label is found."""

    label: str
    precision: float | None
    """Share of the cases the rater under test gave the label that have it; None where it gave it to none."""
    recall: float | None
    """Share of the cases with the label that the rater under test gave it; None where none has it."""
    precision_interval: Interval | None
    recall_interval: Interval | None
    """Wilson's."""


def precision_recall(table: Confusion, label: str, *, level: float = LEVEL) -> PrecisionRecall:
    """Precision and recall of a label. Raises ValueError for one that the table doesn't have."""
    if label not in table.labels:
        raise ValueError(f"the table has no label {label!r}")
    at = table.labels.index(label)
    hits = table.counts[at][at]
    given, there = sum(row[at] for row in table.counts), sum(table.counts[at])
    return PrecisionRecall(
        label=label,
        precision=hits / given if given else None,
        recall=hits / there if there else None,
        precision_interval=wilson_interval(hits, given, level=level) if given else None,
        recall_interval=wilson_interval(hits, there, level=level) if there else None,
    )


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A cut of a score into two labels."""

    at: float
    """Scores above it, or equal to it, are the positive label."""
    agreement: float
    """Share of cases that the cut decides as the reference did."""
    kappa: float


def best_threshold(scores: Sequence[tuple[float, bool]]) -> Threshold | None:
    """The cut of `(score, positive?)` with the highest kappa; of several, the one with the widest room around it.

    A cut lies midway between two neighbouring scores. None where all scores are equal or one class is missing. The
    positive class is expected at the high end: hand in `1 - score` where low scores are positive. A threshold chosen
    on a set looks better there than elsewhere. Raises ValueError for a score that isn't finite.
    """
    if not all(math.isfinite(score) for score, _ in scores):
        raise ValueError("a threshold needs finite scores")
    n = len(scores)
    ordered = sorted(scores)
    values = sorted({score for score, _ in ordered})
    there = sum(positive for _, positive in ordered)
    if len(values) < 2 or there in (0, n):
        return None
    positives = [0, *accumulate(positive for _, positive in ordered)]
    only = [score for score, _ in ordered]
    best: tuple[float, float, Threshold] | None = None
    for low, high in pairwise(values):
        below = bisect_left(only, high)
        hits = there - positives[below]
        agreement = (hits + below - positives[below]) / n
        chance = ((n - below) * there + below * (n - there)) / (n * n)
        value = (agreement - chance) / (1 - chance)
        found = (round(value, 12), high - low, Threshold(at=(low + high) / 2, agreement=agreement, kappa=value))
        if best is None or found[:2] > best[:2]:
            best = found
    return None if best is None else best[2]
