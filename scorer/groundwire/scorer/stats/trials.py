"""What repeated trials of a case say: pass@k, at least one of k passes, and pass^k, all k do."""

from math import comb

__all__ = ["pass_at_k", "pass_hat_k"]


def pass_at_k(k: int, *, trials: int, passed: int) -> float:
    """Unbiased estimate of pass@k from `trials` ≥ k of one case (Chen et al. 2021, "Evaluating LLMs Trained on Code").

    The share of the draws of k trials, without replacement, in which at least one passed; in [0, 1]. Raises ValueError
    unless 1 ≤ k ≤ trials and 0 ≤ passed ≤ trials.
    """
    _check(k, trials, passed)
    return 1 - comb(trials - passed, k) / comb(trials, k)


def pass_hat_k(k: int, *, trials: int, passed: int) -> float:
    """Unbiased estimate of pass^k from `trials` ≥ k of one case (Yao et al. 2024, "τ-bench").

    The share of the draws of k trials, without replacement, in which all passed; in [0, 1]. Raises as `pass_at_k`.
    """
    _check(k, trials, passed)
    return comb(passed, k) / comb(trials, k)


def _check(k: int, trials: int, passed: int) -> None:
    if not 1 <= k <= trials or not 0 <= passed <= trials:
        raise ValueError("needs 1 ≤ k ≤ trials and 0 ≤ passed ≤ trials")
