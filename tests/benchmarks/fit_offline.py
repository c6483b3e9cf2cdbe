"""Fits the offline judge's combination and writes the coefficients that the package ships.

`python -m tests.benchmarks.fit_offline [--write]` prints what each family of sets scores when it is held out, then fits
on all of them. Coefficients are bounded to the side that their feature means: without that, a combination learns from
one set's habits (long evidence, no figures) what is wrong on the next.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from tests.benchmarks.sets import FAMILIES, Item, available, drawn, whole

from groundwire.scorer.checks import run_checks
from groundwire.scorer.judges.bench import Bench
from groundwire.scorer.judges.combination import COVERAGE_RULE, Combination
from groundwire.scorer.judges.features import FEATURES, align, vector

WEIGHTS = Path(__file__).parents[2] / "scorer/groundwire/scorer/judges/weights.json"
LOWERS = frozenset({"coverage", "sentence", "neighbours"})
"""Features of which more makes a claim likelier to be supported; of all others, more makes it less likely."""
RIDGE = 0.003
"""Penalty on the squared standardised coefficients."""
HALLUCINATED = 0.85
"""Least share of hallucinated claims at or above `high`, in each family that is fitted on, classes balanced."""
SUPPORTED = 0.75
"""The same for `low` and supported claims."""
EVEN = 0.5
"""`low` is never above it, `high` never below."""


@dataclass(frozen=True)
class Measured:
    """The features of one family's claims and which of them are hallucinated."""

    features: Any
    hallucinated: Any

    @property
    def weights(self) -> Any:
        """Both classes weigh one half, every family the same."""
        positive = self.hallucinated == 1
        return np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum())


def measure(items: Sequence[Item]) -> Measured:
    """The features of each claim, as the judge measures them."""
    rows = []
    for item in items:
        bench = Bench.of(item.view, "en", COVERAGE_RULE)
        rows.append(vector(align(item.claim, bench.windows, run_checks(item.claim, bench.index))))
    return Measured(np.array(rows), np.array([int(item.hallucinated) for item in items]))


def fit(families: Sequence[Measured]) -> Combination:
    """The logistic regression with bounded coefficients over some families, and its two thresholds."""
    from scipy.optimize import minimize

    features = np.vstack([family.features for family in families])
    labels = np.hstack([family.hallucinated for family in families])
    weights = np.hstack([family.weights for family in families])
    weights = weights / weights.sum()
    mean, spread = features.mean(0), features.std(0) + 1e-9
    scaled = (features - mean) / spread

    def loss(coefficients: Any) -> tuple[float, Any]:
        score = scaled @ coefficients[1:] + coefficients[0]
        error = weights * (1 / (1 + np.exp(-score)) - labels)
        value = (weights * (np.logaddexp(0, score) - labels * score)).sum() + RIDGE * (coefficients[1:] ** 2).sum()
        return value, np.r_[error.sum(), error @ scaled + 2 * RIDGE * coefficients[1:]]

    bounds = [(None, None), *((None, 0) if name in LOWERS else (0, None) for name in FEATURES)]
    found = minimize(loss, np.zeros(len(FEATURES) + 1), jac=True, bounds=bounds, method="L-BFGS-B").x
    coefficients = found[1:] / spread
    intercept = float(found[0] - (coefficients * mean).sum())
    combination = Combination(intercept=intercept, weights=tuple(map(float, coefficients)), low=0.0, high=1.0)
    low = min(_threshold(combination, family, supported=True) for family in families)
    high = max(_threshold(combination, family, supported=False) for family in families)
    return Combination(intercept=intercept, weights=combination.weights, low=min(low, EVEN), high=max(high, EVEN))


def _threshold(combination: Combination, family: Measured, *, supported: bool) -> float:
    """The mildest threshold beyond which the wanted share of the family's claims is as it says."""
    probabilities = np.array([combination.probability(row) for row in family.features])
    right = family.hallucinated == (0 if supported else 1)
    order = np.argsort(probabilities if supported else -probabilities)
    share = np.cumsum((family.weights * right)[order]) / np.cumsum(family.weights[order])
    wanted = SUPPORTED if supported else HALLUCINATED
    enough = np.flatnonzero((share >= wanted) & (np.cumsum(family.weights[order]) >= 0.05))
    return float(probabilities[order][enough[-1]]) if len(enough) else (0.0 if supported else 1.0)


def main() -> int:
    """Print held-out figures; with `--write`, fit on every family and write the weights."""
    console = Console()
    if not available():
        console.print("the labelled sets are not there (../shared/data): nothing fitted")
        return 0
    from sklearn.metrics import roc_auc_score

    measured = {family: measure(whole(family)) for family in dict.fromkeys(FAMILIES.values())}
    for name, family in FAMILIES.items():
        combination = fit([other for key, other in measured.items() if key != family])
        held = measure(drawn(name))
        probabilities = [combination.probability(row) for row in held.features]
        area = roc_auc_score(held.hallucinated, probabilities)
        console.print(
            f"{name}: held out, n={len(probabilities)}, AUC {area:.3f}, {combination.low:.2f}/{combination.high:.2f}"
        )
    combination = fit(list(measured.values()))
    data = {
        "families": list(measured),
        "intercept": round(combination.intercept, 4),
        "low": round(combination.low, 3),
        "high": round(combination.high, 3),
        "weights": {name: round(weight, 4) for name, weight in zip(FEATURES, combination.weights, strict=True)},
    }
    text = json.dumps(data, indent=1) + "\n"
    console.print(text)
    if "--write" in sys.argv[1:]:
        WEIGHTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
