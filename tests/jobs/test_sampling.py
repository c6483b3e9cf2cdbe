"""Which traces are judged: the same again, nested, at the rate that was asked, and what has a rate of its own."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.connectors.testing import make_sample
from groundwire.jobs.sampling import draw, inclusion, inclusion_bound
from groundwire.jobs.spec import EvaluatorSpec

IDS = [f"{number:032x}" for number in range(1000)]
TRACE = make_sample(0, end=datetime(2026, 11, 30, tzinfo=UTC)).trace


def sampled(rate: float) -> set[str]:
    return {key for key in IDS if draw(key) < rate}


def spec(**more: object) -> EvaluatorSpec:
    return EvaluatorSpec.model_validate({"name": "e", "source": "prod", "sample": 0.1, **more})


def test_draws_are_the_same_everywhere() -> None:
    # by hand: int(sha256(b"groundwire:sampling:v1\0" + key)[:8], big-endian) >> 11, over 2**53
    assert draw("trace-1") == pytest.approx(0.37110386874131696, abs=1e-15)
    assert draw("é\ud800") == draw("é\ud800")


def test_a_thousand_ids_twice_and_a_lower_rate_inside_a_higher() -> None:
    half, quarter = sampled(0.5), sampled(0.25)
    assert half == sampled(0.5)
    assert quarter < half
    assert abs(len(half) - 500) < 4 * (1000 * 0.25) ** 0.5
    assert abs(len(quarter) - 250) < 4 * (1000 * 0.1875) ** 0.5


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_any_key_is_nested(key: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= draw(key) < 1
    assert not draw(key) < low or draw(key) < high


def test_nothing_and_everything() -> None:
    assert sampled(0.0) == set()
    assert sampled(1.0) == set(IDS)


def test_of_the_strata_that_hold_the_highest_rate_counts() -> None:
    strata = [
        {"errors": True, "sample": 1.0},
        {"tags": ["vip", "beta"], "sample": 0.5},
        {"where": {"user": "user-0"}, "sample": 0.3},
        {"tags": ["vip"], "where": {"environment": "staging"}, "sample": 0.9},
        {"negative_feedback": ["user_score"], "sample": 0.8},
    ]
    rated = spec(strata=strata)
    failed = replace(TRACE, spans=(TRACE.spans[0].model_copy(update={"status": "error"}), *TRACE.spans[1:]))
    assert inclusion(replace(TRACE, user_id="somebody"), rated) == 0.1
    assert inclusion(TRACE, rated) == 0.3
    assert inclusion(replace(TRACE, tags=("vip",)), rated) == 0.5
    assert inclusion(replace(TRACE, tags=("vip",), environment="staging"), rated) == 0.9
    assert inclusion(failed, rated) == 1.0
    assert inclusion(replace(TRACE, feedback={"user_score": 0.0}), rated) == 0.8
    assert inclusion(replace(TRACE, feedback={"user_score": 1.0, "other": -1.0}), rated) == 0.3
    assert inclusion_bound(rated) == 1.0


def test_a_backfills_rate_replaces_the_evaluators_and_no_stratums() -> None:
    rated = spec(strata=[{"tags": ["vip"], "sample": 0.5}])
    assert inclusion(TRACE, rated, rate=0.02) == 0.02
    assert inclusion(replace(TRACE, tags=("vip",)), rated, rate=0.02) == 0.5


def test_a_stratum_without_a_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="errors, negative_feedback, tags or where"):
        spec(strata=[{"sample": 1.0}])
