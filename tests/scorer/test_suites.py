"""What rows of a suite add up to, and what the gate makes of two results: the pure parts."""

from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.scorer import (
    Case,
    ConfigError,
    GateConfig,
    GateReport,
    JudgeRow,
    SuiteResults,
    TrialRow,
    decide_gate,
    gate_markdown,
    judge_agreement,
    summarise_trials,
)

MOMENT = datetime(2026, 12, 1, tzinfo=UTC)


def row(case: str, trial: int, passed: bool | None, **fields: Any) -> TrialRow:
    given = {
        "case": case,
        "case_version": "1",
        "kind": "normal",
        "purpose": "regression",
        "trial": trial,
        "status": "scored" if passed is not None else "unknown",
        "reason": None if passed is not None else "target_error",
        "passed": passed,
        **fields,
    }
    return TrialRow.model_validate(given)


def results(passes: dict[str, list[bool | None]], **fields: Any) -> SuiteResults:
    extra = {name: fields.pop(name) for name in ("kind", "latency_seconds", "micro_dollars", "judge") if name in fields}
    rows = [row(case, trial, passed, **extra) for case, found in passes.items() for trial, passed in enumerate(found)]
    trials = max(map(len, passes.values()))
    return SuiteResults.model_validate(
        {
            "suite": "s",
            "version": "1",
            "target": "t",
            "fingerprint": "f",
            "cases": dict.fromkeys(passes, "d"),
            "trials": trials,
            "k": trials,
            "groundwire_version": "0",
            "started_at": MOMENT,
            "rows": rows,
            **fields,
        }
    )


def check(report: GateReport, rule: str) -> Any:
    return next(one for one in report.checks if one.rule == rule)


def test_shares_where_every_case_has_k_trials() -> None:
    rows = results({"a": [True, True], "b": [True, False], "c": [False, False], "d": [True, True]}).rows
    found = summarise_trials(rows, k=2)
    assert found.pass_rate is not None
    assert found.pass_at_k is not None
    assert found.pass_hat_k is not None
    assert (found.pass_rate.value, found.pass_at_k.value, found.pass_hat_k.value) == (0.625, 0.75, 0.5)
    assert found.pass_hat_k.interval.low < 0.5 < found.pass_hat_k.interval.high
    assert found.left_out == ()


def test_more_trials_than_k_are_estimated_without_bias() -> None:
    found = summarise_trials(results({"a": [True, True, False, False]}).rows, k=2)
    assert found.pass_at_k is not None
    assert found.pass_hat_k is not None
    assert found.pass_at_k.value == pytest.approx(1 - 1 / 6)
    assert found.pass_hat_k.value == pytest.approx(1 / 6)


def test_what_has_no_grade_is_no_failure_and_is_shown() -> None:
    rows = results({"a": [True, None], "b": [True, True], "c": [None, None]}).rows
    found = summarise_trials(rows, k=2)
    assert found.pass_rate is not None
    assert (found.pass_rate.value, found.pass_rate.cases) == (1.0, 2)
    assert found.pass_hat_k is not None
    assert found.pass_hat_k.cases == 1
    assert (found.errors, found.left_out) == (3, ("a", "c"))


def test_nothing_graded_has_no_rate() -> None:
    found = summarise_trials(results({"a": [None]}).rows, k=1)
    assert (found.pass_rate, found.pass_at_k, found.p50_seconds, found.micro_dollars_per_task) == (None,) * 4


def test_cost_is_of_the_finished_task() -> None:
    rows = [
        row("a", 0, True, micro_dollars=100),
        row("a", 1, None, micro_dollars=50),
        row("a", 2, False, micro_dollars=30),
    ]
    assert summarise_trials(rows, k=1).micro_dollars_per_task == 90
    rows.append(row("b", 0, True))
    assert summarise_trials(rows, k=1).micro_dollars_per_task is None


@given(st.lists(st.lists(st.sampled_from([True, False]), min_size=3, max_size=3), min_size=1, max_size=6))
def test_pass_hat_k_never_passes_the_rate_nor_the_rate_pass_at_k(trials: list[list[bool]]) -> None:
    found = summarise_trials(results({str(n): list(one) for n, one in enumerate(trials)}).rows, k=3)
    assert found.pass_hat_k is not None
    assert found.pass_rate is not None
    assert found.pass_at_k is not None
    assert found.pass_hat_k.value <= found.pass_rate.value + 1e-12
    assert found.pass_rate.value <= found.pass_at_k.value + 1e-12
    for rate in (found.pass_hat_k, found.pass_rate, found.pass_at_k):
        assert 0 <= rate.interval.low <= rate.value + 1e-12
        assert rate.value - 1e-12 <= rate.interval.high <= 1


def test_a_case_is_its_own_digest_and_its_purpose_is_no_part_of_it() -> None:
    case = Case.model_validate({"id": 1, "input": "x", "expect": "y", "cite": "a"})
    assert (case.id, case.cite) == ("1", ("a",))
    digest = case.digest({"a": "text"})
    assert case.model_copy(update={"purpose": "capability"}).digest({"a": "text"}) == digest
    assert case.digest({"a": "another"}) != digest
    assert case.model_copy(update={"expect": "z"}).digest({"a": "text"}) != digest


GOOD: dict[str, list[bool | None]] = {name: [True, True] for name in "abcde"}
BAD: dict[str, list[bool | None]] = {**GOOD, "a": [False, False], "b": [True, False]}


def test_a_fall_blocks_and_a_rise_does_not() -> None:
    worse = decide_gate(results(GOOD), results(BAD), GateConfig())
    assert [one.message for one in worse.blocking] == [
        "pass rate fell from 100% to 70% (tolerance 2 points)",
        "pass^2 fell from 100% to 60%",
    ]
    assert not decide_gate(results(BAD), results(GOOD), GateConfig()).blocking
    same = decide_gate(results(BAD), results(BAD), GateConfig())
    assert not same.blocking
    assert check(same, "pass rate").message == "pass rate stayed at 70%"


@pytest.mark.parametrize(("tolerance", "blocks"), [(0.29, True), (0.3, False), (0.31, False)])
def test_the_tolerance_is_kept_to_the_digit(tolerance: float, blocks: bool) -> None:
    config = GateConfig.model_validate({"pass_rate": {"tolerance": tolerance}, "pass_hat_k": False})
    assert bool(decide_gate(results(GOOD), results(BAD), config).blocking) is blocks


def test_a_floor_holds_whatever_the_baseline_did() -> None:
    config = GateConfig.model_validate({"pass_rate": {"tolerance": 1, "least": 0.9}, "pass_hat_k": False})
    assert decide_gate(results(BAD), results(BAD), config).blocking[0].message == "pass rate is 70%, below 90%"


def test_the_bootstrap_says_when_the_set_is_too_small_to_tell() -> None:
    config = GateConfig.model_validate({"method": "bootstrap", "pass_rate": {"tolerance": 0.02}})
    small = decide_gate(results(GOOD), results(BAD), config)
    assert check(small, "pass rate").outcome == "unclear"
    assert "5 cases are too few to tell" in check(small, "pass rate").message
    assert not small.blocking
    assert decide_gate(results(GOOD), results(BAD), config.model_copy(update={"unclear": "block"})).blocking
    many = {f"{name}{number}": found for number in range(20) for name, found in BAD.items()}
    large = decide_gate(results({key: [True, True] for key in many}), results(many), config)
    assert check(large, "pass rate").outcome == "block"
    assert "interval" in check(large, "pass rate").message
    steady = decide_gate(results(many), results(many), config)
    assert {one.outcome for one in steady.checks} == {"pass"}


def test_a_must_refuse_case_that_is_answered_blocks_though_the_baseline_did_too() -> None:
    answered = results({"a": [True, False]}, kind="must_refuse")
    report = decide_gate(answered, answered, GateConfig())
    assert [one.message for one in report.blocking] == ["answered what must be refused: a"]
    assert not decide_gate(answered, answered, GateConfig(must_refuse=False)).blocking


def test_trials_without_a_grade_block_beyond_the_baseline() -> None:
    broken = results({**GOOD, "a": [True, None]})
    report = decide_gate(results(GOOD), broken, GateConfig())
    assert [one.rule for one in report.blocking] == ["errors"]
    assert not decide_gate(broken, broken, GateConfig()).blocking
    assert decide_gate(broken, broken, GateConfig(errors=0)).blocking
    assert not decide_gate(results(GOOD), broken, GateConfig(errors=False)).blocking


@pytest.mark.parametrize("method", ["tolerance", "bootstrap"])
@pytest.mark.parametrize(
    ("rule", "field", "old", "new", "limits", "blocks"),
    [
        ("latency_p50", "latency_seconds", 1.0, 1.2, {"rise": 0.2}, False),
        ("latency_p50", "latency_seconds", 1.0, 1.3, {"rise": 0.2}, True),
        ("latency_p95", "latency_seconds", 1.0, 1.3, {"rise": 0.2}, True),
        ("latency_p95", "latency_seconds", 1.0, 0.5, {"most": 0.4}, True),
        ("cost", "micro_dollars", 1_000, 1_100, {"rise": 0.2}, False),
        ("cost", "micro_dollars", 1_000, 1_300, {"rise": 0.2}, True),
        ("cost", "micro_dollars", 1_000, 1_300, {"most": 0.0013}, False),
        ("cost", "micro_dollars", 1_000, 1_300, {"most": 0.0012}, True),
    ],
)
def test_latency_and_cost(
    method: str, rule: str, field: str, old: float, new: float, limits: dict[str, float], blocks: bool
) -> None:
    config = GateConfig.model_validate({"method": method, rule: limits})
    report = decide_gate(results(GOOD, **{field: old}), results(GOOD, **{field: new}), config)
    assert bool(report.blocking) is blocks


def test_a_figure_that_is_asked_for_and_missing_blocks() -> None:
    config = GateConfig.model_validate({"cost": {"rise": 0.1}, "judge_score": {"tolerance": 0.1}})
    report = decide_gate(results(GOOD), results(GOOD), config)
    assert {one.rule for one in report.blocking} == {"cost a task", "judge score"}
    judged = results(GOOD, judge=JudgeRow(score=0.5))
    assert check(decide_gate(judged, judged, config), "judge score").outcome == "pass"


def test_capability_cases_are_not_gated() -> None:
    both = [*results(GOOD).rows, row("new", 0, False, purpose="capability"), row("new", 1, False, purpose="capability")]
    cases = {**dict.fromkeys(GOOD, "d"), "new": "d"}
    report = decide_gate(
        results(GOOD, rows=both, cases=cases), results(GOOD, rows=both, cases=cases), GateConfig(pass_rate=False)
    )
    assert not report.blocking
    assert check(report, "pass^2").candidate == 1.0


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"suite": "other"}, "different suites (s and other)"),
        ({"version": "2"}, "different versions of the suite (1 and 2)"),
        ({"k": 1}, "different k"),
        ({"fingerprint": "g"}, "graded or judged differently"),
        ({"cases": {**dict.fromkeys(GOOD, "d"), "a": "changed"}}, "these cases changed since the baseline: a"),
    ],
)
def test_unlike_results_are_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        decide_gate(results(GOOD), results(GOOD, **fields), GateConfig())
    assert says in str(error.value)


def test_other_cases_and_no_cases_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"different cases \(baseline only: e; candidate only: f\)"):
        decide_gate(results(GOOD), results({**{name: GOOD[name] for name in "abcd"}, "f": [True, True]}), GateConfig())
    capability = [found.model_copy(update={"purpose": "capability"}) for found in results(GOOD).rows]
    with pytest.raises(ConfigError, match="no regression cases"):
        decide_gate(results(GOOD, rows=capability), results(GOOD, rows=capability), GateConfig())


def test_a_case_does_not_leave_the_gate_unseen() -> None:
    moved = [
        found.model_copy(update={"purpose": "capability"}) if found.case == "a" else found
        for found in results(BAD).rows
    ]
    with pytest.raises(ConfigError, match="were regression cases in the baseline and are none now: a"):
        decide_gate(results(GOOD), results(BAD, rows=moved), GateConfig())
    graduated = decide_gate(results(GOOD, rows=moved), results(GOOD), GateConfig(pass_rate=False, pass_hat_k=False))
    assert not graduated.blocking


def test_markdown_is_a_table_whatever_the_names() -> None:
    report = decide_gate(results(GOOD, target="a|b"), results(BAD, target="<script>`x`"), GateConfig())
    text = gate_markdown(report)
    assert text.startswith("### ❌ &lt;script>\\`x\\` is blocked\n")
    assert "baseline a\\|b" in text
    assert "passes by override" in gate_markdown(report, overridden="by Ada: demo")
    assert gate_markdown(decide_gate(results(GOOD), results(GOOD), GateConfig())).startswith("### ✅")


def test_agreement_of_judge_and_people() -> None:
    scores = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0, "e": 1.0, "f": None}
    rows = [row(case, 1, True, judge=JudgeRow(score=score)) for case, score in scores.items()]
    people = {"a": True, "b": True, "c": False, "d": False, "e": True, "f": True}
    found = judge_agreement(rows, {(case, 1): passed for case, passed in people.items()})
    assert (found.n, found.agreement, found.missed, found.refused, found.unjudged) == (5, 0.8, ("c",), (), 1)
    assert found.kappa == pytest.approx(6 / 11)
    one_class = judge_agreement(rows[:2], {("a", 1): True, ("b", 1): True})
    assert one_class.kappa is None
    with pytest.raises(ConfigError, match="no trial 2 of 'a'"):
        judge_agreement(rows, {("a", 2): True})
    with pytest.raises(ConfigError, match="no labelled trial"):
        judge_agreement([row("a", 0, True)], {("a", 0): True})


def test_rows_hold_no_numbers_that_are_none() -> None:
    for name, value in product(("latency_seconds",), (float("nan"), float("inf"), -1.0)):
        with pytest.raises(ValueError, match=name):
            row("a", 0, True, **{name: value})
    with pytest.raises(ValueError, match="score"):
        JudgeRow(score=float("nan"))
