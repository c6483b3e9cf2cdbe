"""The features joined into one probability: a plain rule of coverage, or the logistic combination that was fitted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp
from typing import Self

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.judges.features import FEATURES

__all__ = ["COVERAGE_RULE", "Combination"]


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Coefficients over `FEATURES`, and from which probability on a claim is called one thing or the other."""

    intercept: float
    weights: tuple[float, ...]
    """One for each of `FEATURES`, on the features' own scale."""
    low: float
    """At or below this probability a claim without specifics is supported, in [0, 1]."""
    high: float
    """At or above it a claim is hallucinated, in [0, 1]."""

    def probability(self, features: Sequence[float]) -> float:
        """The probability that the claim is hallucinated, in (0, 1)."""
        score = self.intercept + sum(weight * value for weight, value in zip(self.weights, features, strict=True))
        return 1 / (1 + exp(-max(-30.0, min(30.0, score))))

    @classmethod
    def read(cls, text: str) -> Self:
        """From the JSON of `weights.json`: `{"intercept", "low", "high", "weights": {feature: weight}}`.

        Raises ConfigError where the features are not this version's.
        """
        data = json.loads(text)
        if set(data["weights"]) != set(FEATURES):
            raise ConfigError(
                "the weights are of another version: write them anew with tests/benchmarks/fit_offline.py"
            )
        weights = tuple(float(data["weights"][name]) for name in FEATURES)
        return cls(
            intercept=float(data["intercept"]), weights=weights, low=float(data["low"]), high=float(data["high"])
        )

    @classmethod
    def shipped(cls) -> "Combination":
        """The combination in the package."""
        return _shipped()


@cache
def _shipped() -> Combination:
    return Combination.read(resources.files(__package__).joinpath("weights.json").read_text(encoding="utf-8"))


COVERAGE_RULE = Combination(
    intercept=3.0,
    weights=tuple(
        {"coverage": -3.0, "sentence": -3.0, "figure_missing": 2.0, "name_missing": 1.0, "opposite": 0.5}.get(name, 0.0)
        for name in FEATURES
    ),
    low=0.25,
    high=0.75,
)
"""The rule without fitting: how much of the claim's wording the evidence holds, whether figures and names are there."""
