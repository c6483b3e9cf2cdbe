"""Statistics of sets of rows: agreement, proportions, resampling, repeated trials. Pure; every formula is named."""

from groundwire.scorer.stats.agreement import (
    Confusion,
    Kappa,
    PrecisionRecall,
    Threshold,
    best_threshold,
    cohen_kappa,
    precision_recall,
    weighted_kappa,
)
from groundwire.scorer.stats.interval import LEVEL, Interval
from groundwire.scorer.stats.proportions import (
    Comparison,
    Proportion,
    WeightedTally,
    compare_proportions,
    weighted_proportion,
    weighted_tally,
    wilson_interval,
)
from groundwire.scorer.stats.resampling import RESAMPLES, BootstrapEstimate, bootstrap, paired_bootstrap, quantile
from groundwire.scorer.stats.trials import pass_at_k, pass_hat_k

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "BootstrapEstimate",
    "Comparison",
    "Confusion",
    "Interval",
    "Kappa",
    "PrecisionRecall",
    "Proportion",
    "Threshold",
    "WeightedTally",
    "best_threshold",
    "bootstrap",
    "cohen_kappa",
    "compare_proportions",
    "paired_bootstrap",
    "pass_at_k",
    "pass_hat_k",
    "precision_recall",
    "quantile",
    "weighted_kappa",
    "weighted_proportion",
    "weighted_tally",
    "wilson_interval",
]
