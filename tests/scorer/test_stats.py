"""The statistics against scikit-learn, statsmodels and scipy, on random tables, and where those have no answer."""

import itertools
import math
import random
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix, precision_score, recall_score
from statsmodels.api import WLS
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

from groundwire.scorer import (
    Confusion,
    Proportion,
    best_threshold,
    bootstrap,
    cohen_kappa,
    compare_proportions,
    paired_bootstrap,
    pass_at_k,
    pass_hat_k,
    precision_recall,
    quantile,
    weighted_kappa,
    weighted_proportion,
    weighted_tally,
    wilson_interval,
)

SEEDS = range(25)


def exact(expected: float) -> Any:
    """Equal to 1e-9."""
    return pytest.approx(expected, rel=1e-9, abs=1e-9)


def drawn_pairs(seed: int, labels: str = "abcd") -> list[tuple[str, str]]:
    random_ = random.Random(seed)
    used = labels[: random_.randint(2, len(labels))]
    pairs = []
    for _ in range(random_.randint(12, 80)):
        left = random_.choice(used)
        pairs.append((left, left if random_.random() < 0.6 else random_.choice(used)))
    return [*pairs, (used[0], used[1])]


@pytest.mark.parametrize("seed", SEEDS)
def test_kappa_is_that_of_scikit_learn_and_its_interval_that_of_statsmodels(seed: int) -> None:
    pairs = drawn_pairs(seed)
    left, right = zip(*pairs, strict=True)
    table = Confusion.of(pairs)
    assert [list(row) for row in table.counts] == confusion_matrix(left, right, labels=table.labels).tolist()
    found = cohen_kappa(table)
    assert found.value == exact(cohen_kappa_score(left, right))
    expected = cohens_kappa(np.array(table.counts))
    assert found.interval is not None
    assert found.interval.low == exact(max(-1, expected.kappa_low))
    assert found.interval.high == exact(min(1, expected.kappa_upp))
    for label in table.labels:
        one = precision_recall(table, label)
        for mine, theirs in ((one.precision, precision_score), (one.recall, recall_score)):
            if mine is not None:
                assert mine == exact(theirs(left, right, labels=[label], average="micro"))


@pytest.mark.parametrize("seed", SEEDS)
def test_weighted_kappa_is_that_of_scikit_learn_and_statsmodels(seed: int) -> None:
    random_ = random.Random(seed)
    even = [(i, max(0, min(4, i + random_.choice((-1, 0, 0, 1))))) for i in [0, 4, *random_.choices(range(5), k=40)]]
    left, right = zip(*even, strict=True)
    found = weighted_kappa([(a / 4, b / 4) for a, b in even])
    assert found.value == exact(cohen_kappa_score(left, right, weights="quadratic", labels=range(5)))
    table = confusion_matrix(left, right, labels=range(5))
    expected = cohens_kappa(table, wt="quadratic")
    assert found.interval is not None
    assert found.interval.low == exact(max(-1, expected.kappa_low))
    uneven = [0.0, 0.1, 0.4, 0.5, 1.0]
    distances = np.array([[(a - b) ** 2 for b in uneven] for a in uneven])
    spaced = cohens_kappa(table, weights=distances)
    found = weighted_kappa([(uneven[a], uneven[b]) for a, b in even])
    assert found.value == exact(spaced.kappa)
    assert found.interval is not None
    assert found.interval.low == exact(max(-1, spaced.kappa_low))
    assert found.interval.high == exact(min(1, spaced.kappa_upp))


def test_kappa_has_no_value_where_there_is_one_label_and_a_wide_interval_where_all_agree() -> None:
    same = cohen_kappa(Confusion.of([("a", "a")] * 20))
    assert (same.agreement, same.value, same.interval) == (1.0, None, None)
    perfect = cohen_kappa(Confusion.of([("a", "a"), ("b", "b")] * 10))
    assert perfect.interval is not None
    assert perfect.value == 1.0
    assert 0.6 < perfect.interval.low < 0.75
    assert weighted_kappa([(0.5, 0.5)] * 3).value is None
    with pytest.raises(ValueError, match="at least one case"):
        cohen_kappa(Confusion.of([]))
    with pytest.raises(ValueError, match="finite"):
        weighted_kappa([(math.nan, 0.0)])


def test_precision_and_recall_have_no_value_where_nothing_was_found_or_there() -> None:
    table = Confusion.of([("grounded", "grounded")] * 3, labels=("hallucinated",))
    one = precision_recall(table, "hallucinated")
    assert (one.precision, one.recall, one.precision_interval, one.recall_interval) == (None, None, None, None)
    with pytest.raises(ValueError, match="no label"):
        precision_recall(table, "other")


@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_is_that_of_statsmodels(n: int, share: float, level: float) -> None:
    successes = round(share * n)
    found = wilson_interval(successes, n, level=level)
    low, high = proportion_confint(successes, n, alpha=1 - level, method="wilson")
    assert found.low == exact(low)
    assert found.high == exact(high)
    assert 0 <= found.low <= successes / n <= found.high <= 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_weighted_proportion_is_a_weighted_regression_on_a_constant(seed: int) -> None:
    random_ = random.Random(seed)
    cases = [(random_.random() < 0.3, random_.choice((0.1, 0.5, 1.0)), i) for i in range(random_.randint(30, 200))]
    cases += [(True, 0.5, -1), (False, 0.1, -2)]
    found = weighted_proportion(weighted_tally(cases))
    assert found is not None
    outcomes = np.array([float(positive) for positive, _, _ in cases])
    weights = np.array([1 / probability for _, probability, _ in cases])
    fit = WLS(outcomes, np.ones(len(cases)), weights=weights).fit(cov_type="HC0")
    assert found.value == exact(fit.params[0])
    assert found.standard_error == exact(fit.bse[0])
    assert found.total == exact(float((outcomes * weights).sum()))
    low, high = proportion_confint(found.value * found.effective, found.effective, method="wilson")
    assert (found.interval.low, found.interval.high) == (exact(low), exact(high))
    groups = [cluster % 10 for _, _, cluster in cases]
    clustered = WLS(outcomes, np.ones(len(cases)), weights=weights).fit(
        cov_type="cluster", cov_kwds={"groups": np.array(groups), "use_correction": False}
    )
    again = weighted_proportion(weighted_tally((y, p, g) for (y, p, _), g in zip(cases, groups, strict=True)))
    assert again is not None
    assert again.standard_error == exact(clustered.bse[0])


def plain(successes: int, n: int) -> Proportion:
    found = weighted_proportion(weighted_tally((i < successes, 0.25, i) for i in range(n)))
    assert found is not None
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_two_plain_proportions_are_compared_as_statsmodels_does(seed: int) -> None:
    random_ = random.Random(seed)
    n, m = random_.randint(40, 400), random_.randint(40, 400)
    a, b = random_.randint(10, n - 10), random_.randint(10, m - 10)
    found = compare_proportions(plain(a, n), plain(b, m))
    z, p = proportions_ztest([b, a], [m, n])
    low, high = confint_proportions_2indep(b, m, a, n, method="newcomb", compare="diff")
    assert (found.z, found.p) == (exact(z), exact(p))
    assert found.interval.low == exact(low)
    assert found.interval.high == exact(high)
    assert found.enough


def test_few_cases_are_said_to_be_too_few_and_equal_ones_are_no_difference() -> None:
    assert not compare_proportions(plain(1, 10), plain(3, 10)).enough
    none = compare_proportions(plain(0, 50), plain(0, 80))
    assert (none.difference, none.z, none.p, none.enough) == (0, 0, 1, False)


def test_equal_weights_give_the_plain_interval_and_extremes_keep_a_width() -> None:
    half = plain(30, 60)
    expected = wilson_interval(30, 60)
    assert half.effective == exact(60)
    assert (half.interval.low, half.interval.high) == (exact(expected.low), exact(expected.high))
    assert half.total == exact(120)
    for successes, end in ((0, "high"), (60, "low")):
        assert getattr(plain(successes, 60).interval, end) == exact(getattr(wilson_interval(successes, 60), end))
    assert weighted_proportion(weighted_tally([])) is None
    one_trace = weighted_proportion(weighted_tally((i % 2 == 0, 1.0, "t") for i in range(500)))
    assert one_trace is not None
    assert one_trace.effective == 1
    with pytest.raises(ValueError, match="probability"):
        weighted_tally([(True, 0.0, 1)])


def test_tallies_of_parts_add_up_to_that_of_the_whole() -> None:
    cases = [(i % 3 == 0, 0.5 if i % 2 else 1.0, i // 2) for i in range(40)]
    whole = weighted_tally(cases)
    parts = weighted_tally(cases[:20]) + weighted_tally(cases[20:])
    assert weighted_proportion(parts) == weighted_proportion(whole)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    random_ = random.Random(7)
    covered = 0
    for _ in range(400):
        cases = []
        for trace in range(1500):
            failed = random_.random() < 0.2
            probability = 0.8 if failed else 0.1
            if random_.random() < probability:
                cases.append((random_.random() < (0.4 if failed else 0.05), probability, trace))
        found = weighted_proportion(weighted_tally(cases))
        assert found is not None
        covered += found.interval.low <= 0.2 * 0.4 + 0.8 * 0.05 <= found.interval.high
    assert 0.91 <= covered / 400 <= 0.98


@pytest.mark.parametrize("seed", range(5))
def test_the_bootstrap_is_that_of_scipy(seed: int) -> None:
    values = np.random.default_rng(seed).random(30 + seed).tolist()
    for statistic, mine in ((np.mean, None), (np.median, lambda cases: np.median(cases, axis=-1))):
        expected = scipy_stats.bootstrap(
            (values,), statistic, n_resamples=999, method="percentile", rng=np.random.default_rng(seed)
        ).confidence_interval
        found = bootstrap(values, seed=seed, statistic=mine, resamples=999)
        assert found.value == exact(float(statistic(values)))
        assert found.interval.low == exact(expected.low)
        assert found.interval.high == exact(expected.high)


def test_a_paired_bootstrap_is_one_of_differences_and_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    baseline, candidate = [1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.5]
    found = paired_bootstrap(baseline, candidate, seed=3)
    assert found == paired_bootstrap(baseline, candidate, seed=3)
    assert found == bootstrap([0.0, 1.0, -1.0, -0.5], seed=3)
    monkeypatch.setattr("groundwire.scorer.stats.resampling._CELLS", 64)
    assert found == paired_bootstrap(baseline, candidate, seed=3)
    with pytest.raises(ValueError, match="same cases"):
        paired_bootstrap([1.0], [], seed=1)
    with pytest.raises(ValueError, match="at least one"):
        bootstrap([], seed=1)
    with pytest.raises(ValueError, match="finite"):
        bootstrap([math.nan], seed=1)


@given(st.integers(1, 12), st.data())
def test_pass_at_k_and_pass_hat_k_are_what_counting_all_draws_gives(trials: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, trials))
    k = data.draw(st.integers(1, trials))
    draws = list(itertools.combinations([True] * passed + [False] * (trials - passed), k))
    assert pass_at_k(k, trials=trials, passed=passed) == exact(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(k, trials=trials, passed=passed) == exact(sum(map(all, draws)) / len(draws))
    drawing = scipy_stats.hypergeom(trials, passed, k)
    assert pass_at_k(k, trials=trials, passed=passed) == exact(1 - drawing.pmf(0))
    assert pass_hat_k(k, trials=trials, passed=passed) == exact(drawing.pmf(k))


def test_pass_measures_refuse_more_draws_than_trials() -> None:
    for k, trials, passed in ((3, 2, 1), (0, 2, 1), (1, 2, 3)):
        with pytest.raises(ValueError, match="1 ≤ k ≤ trials"):
            pass_at_k(k, trials=trials, passed=passed)
        with pytest.raises(ValueError, match="1 ≤ k ≤ trials"):
            pass_hat_k(k, trials=trials, passed=passed)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.7, 1.0]), st.booleans()), min_size=2, max_size=40))
def test_the_best_threshold_is_the_best_of_all(cases: list[tuple[float, bool]]) -> None:
    found = best_threshold(cases)
    truth = [positive for _, positive in cases]
    values = sorted({score for score, _ in cases})
    if len(values) == 1 or len(set(truth)) == 1:
        assert found is None
        return
    assert found is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = {
            (a + b) / 2: cohen_kappa_score(truth, [score >= (a + b) / 2 for score, _ in cases])
            for a, b in itertools.pairwise(values)
        }
    assert found.kappa == exact(max(every.values()))
    assert every[found.at] == exact(found.kappa)
    decided = [(score >= found.at) == positive for score, positive in cases]
    assert found.agreement == exact(sum(decided) / len(decided))


def test_a_threshold_needs_finite_scores_and_a_quantile_values() -> None:
    with pytest.raises(ValueError, match="finite"):
        best_threshold([(math.inf, True), (0.0, False)])
    with pytest.raises(ValueError, match="at least one"):
        quantile([], 0.5)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0, 1))
def test_a_quantile_is_that_of_scipy(values: list[float], share: float) -> None:
    expected = scipy_stats.mstats.mquantiles(values, share, alphap=1, betap=1)[0]
    assert quantile(values, share) == pytest.approx(float(expected), rel=1e-9, abs=1e-6)
