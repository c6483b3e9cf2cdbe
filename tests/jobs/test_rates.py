"""The report of rates: figures counted by hand, nothing pooled that differs, and nothing hidden that has no score."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from sqlalchemy import insert

from groundwire.jobs.ledger import Cap, StoredLedger
from groundwire.jobs.report import Group, RatesReport, make_rates, rate_words, rates_as_json, write_rates_html
from groundwire.jobs.report.charts import latency_chart, rate_chart
from groundwire.jobs.store import Store, calibrations, counts, gaps
from groundwire.jobs.store.calibrations import StoredCalibration
from groundwire.jobs.store.schema import rows
from groundwire.scorer import Account, Usage, wilson_interval

from .conftest import NOW, Clock
from .samples import row

DAY = timedelta(days=1)


def stored(number: int, said: str | None = "grounded", *, age: float = 1.0, **more: Any) -> dict[str, Any]:
    """A row of the table, `age` days old; `said` None is an unknown one."""
    facts = more.pop("facts", {})
    status = more.pop("status", "scored" if said else "unknown")
    reason = more.pop("reason", None if said else "no_evidence")
    judge = more.pop("judge", {"kind": "llm", "model": "gpt-5-mini", "prompt_digest": "d1", "parameters": {}})
    at = NOW - timedelta(days=age)
    made = row(f"r{number}", f"p{number}", judge=judge, created_at=at)
    return {
        "row_id": f"r{number}",
        "work_id": f"w{number}",
        "evaluator": "grounded",
        "partition_type": "trace",
        "partition_id": f"p{number}",
        "trace_id": f"p{number}",
        "metric": "agent.hallucination",
        "metric_version": "1.0.0",
        "status": status,
        "reason": reason,
        "score": None if said is None else 0.5 if said == "hallucinated" else 1.0,
        "label": said,
        "fingerprint": "f1",
        "micro_dollars": 1_500,
        "content_hash": "h",
        "inclusion": 1.0,
        "created_at": at,
        "trace_time": at,
        "facts": facts,
        "superseded_at": None,
        "text_pruned": False,
        "body": made.model_dump_json(),
        **more,
    }


async def report_of(store: Store, *made: dict[str, Any], since: datetime = NOW - 30 * DAY, **asked: Any) -> RatesReport:
    if made:
        await store.write(lambda tx: tx.execute(insert(rows), list(made)))
    return await make_rates(store, since=since, until=NOW, now=NOW, **asked)


def only(report: RatesReport) -> Group:
    [group] = report.groups
    return group


async def test_a_rate_is_weighted_by_the_chance_to_be_judged_and_unknown_rows_are_shown_beside_it(store: Store) -> None:
    made = [stored(n, "hallucinated", inclusion=1.0) for n in range(4)]
    made += [stored(n, "grounded", inclusion=0.1) for n in range(4, 10)]
    made += [
        stored(10, None),
        stored(11, None, status="invalid", reason="no_tool"),
        stored(12, None, reason="no_claims"),
    ]
    group = only(await report_of(store, *made))
    found = group.overall.hallucinated
    assert found is not None
    assert found.n == 10
    assert found.value == pytest.approx(4 / 64)
    assert found.total == pytest.approx(4)
    assert found.interval.low < 4 / 64 < found.interval.high
    assert group.overall.score == pytest.approx((4 * 0.5 + 60 * 1.0) / 64)
    assert group.overall.statuses == {
        "invalid:no_tool": 1,
        "scored": 10,
        "unknown:no_claims": 1,
        "unknown:no_evidence": 1,
    }


async def test_days_and_dimensions_add_up_and_equal_chances_give_the_plain_interval(store: Store) -> None:
    facts = {"environment": "production", "tags": ["a", "b"], "release": "v1", "models": ["m1", "m2"]}
    made = [stored(n, "hallucinated" if n < 3 else "grounded", age=0.25 + n % 2, facts=facts) for n in range(10)]
    made.append(stored(10, "grounded", age=2.25, facts={**facts, "tags": ["b"]}))
    group = only(await report_of(store, *made))
    assert [(rate.value, rate.rows) for rate in group.days] == [
        ("2026-11-28", 1),
        ("2026-11-29", 5),
        ("2026-11-30", 5),
    ]
    assert {name: [(rate.value, rate.rows) for rate in rates] for name, rates in group.by.items()} == {
        "environment": [("production", 11)],
        "model": [("m1", 11), ("m2", 11)],
        "release": [("v1", 11)],
        "tag": [("b", 11), ("a", 10)],
    }
    tag = group.by["tag"][1].hallucinated
    assert tag is not None
    expected = wilson_interval(3, 10)
    assert tag.interval.low == pytest.approx(expected.low)
    assert tag.interval.high == pytest.approx(expected.high)
    assert rate_words(tag) == "30.0 % (10.8 to 60.3 %)"


async def test_rows_of_one_trace_are_one_draw(store: Store) -> None:
    made = [
        stored(n, "hallucinated" if n < 10 else "grounded", trace_id=f"t{n // 10}", partition_type="span")
        for n in range(20)
    ]
    found = only(await report_of(store, *made)).overall.hallucinated
    assert found is not None
    assert (found.n, found.value) == (20, 0.5)
    assert found.effective == pytest.approx(2)


async def test_what_differs_is_never_pooled_and_the_change_is_marked(store: Store) -> None:
    other = {"kind": "llm", "model": "gpt-6", "prompt_digest": "d1", "parameters": {}}
    made = [stored(n, age=9 - n) for n in range(3)]
    made += [stored(n, age=9 - n, fingerprint="f2", judge=other) for n in range(3, 5)]
    made += [stored(n, age=9 - n, fingerprint="f3", judge={**other, "prompt_digest": "d2"}) for n in range(5, 7)]
    made.append(stored(7, age=0.5, fingerprint="f3", partition_type="span"))
    made.append(stored(8, age=0.5, fingerprint="f3", metric="unsupported_spans", label="matched"))
    made.append(stored(9, age=0.5, evaluator="second"))
    report = await report_of(store, *made)
    assert [(one.evaluator, one.metric, one.partition_type, one.config_fingerprint) for one in report.groups] == [
        ("grounded", "agent.hallucination", "span", "f3"),
        ("grounded", "agent.hallucination", "trace", "f1"),
        ("grounded", "agent.hallucination", "trace", "f2"),
        ("grounded", "agent.hallucination", "trace", "f3"),
        ("grounded", "unsupported_spans", "trace", "f3"),
        ("second", "agent.hallucination", "trace", "f1"),
    ]
    assert [(one.at, one.what) for one in report.breaks] == [
        (NOW - 6 * DAY, "judge: llm gpt-5-mini → llm gpt-6"),
        (NOW - 4 * DAY, "judge's prompts"),
    ]
    matched = report.groups[4].overall.hallucinated
    assert matched is not None
    assert matched.value == 1.0
    assert [one.evaluator for one in (await report_of(store, evaluator="second")).groups] == ["second"]


async def test_only_current_rows_in_the_stretch_count_and_the_traces_time_decides(store: Store) -> None:
    late = stored(3, age=20)
    made = [
        stored(0, age=1),
        stored(1, age=40),
        stored(2, age=1, superseded_at=NOW),
        {**late, "created_at": NOW - DAY},
        stored(4, age=0.5, trace_time=None),
    ]
    group = only(await report_of(store, *made, since=NOW - 10 * DAY))
    assert (group.overall.rows, group.first, group.last) == (2, NOW - DAY, NOW - DAY / 2)
    assert (await report_of(store, since=NOW - DAY / 4)).groups == ()


async def test_drift_is_tested_and_too_little_is_said_to_be_too_little(store: Store) -> None:
    def week(first: int, bad: int, good: int, age: float, **more: Any) -> list[dict[str, Any]]:
        said = ["hallucinated"] * bad + ["grounded"] * good
        return [stored(first + n, one, age=age, **more) for n, one in enumerate(said)]

    made = [*week(0, 10, 90, 10), *week(100, 30, 70, 3)]
    made += [*week(200, 1, 9, 10, evaluator="few"), *week(210, 3, 7, 3, evaluator="few")]
    made += [*week(220, 10, 90, 10, evaluator="still"), *week(320, 12, 88, 3, evaluator="still")]
    made += week(420, 5, 5, 3, evaluator="young")
    report = await report_of(store, *made)
    drifts = {group.evaluator: group.drift for group in report.groups}
    compared = drifts["grounded"].comparison
    assert compared is not None
    assert (drifts["grounded"].words, drifts["grounded"].p_words) == ("rose", " (p < 0.001)")
    assert compared.difference == pytest.approx(0.2)
    assert drifts["few"].words == "too few hallucinated or grounded rows to tell"
    assert drifts["few"].p_words == ""
    assert drifts["still"].words == "no change that chance wouldn't explain"
    assert drifts["young"].words == "no verdicts in one of the two weeks"


async def test_traces_count_once_whatever_judged_them(store: Store) -> None:
    def facts(latency: float, cost: float) -> dict[str, Any]:
        tokens = {"input": 100, "cached": 50, "output": 10, "reasoning": 0}
        return {"latency": latency, "usage": {"cost": cost, "input": 150}, "tokens": tokens}

    made = [stored(n, facts=facts(n + 1.0, 0.01), inclusion=0.5) for n in range(10)]
    made += [stored(20 + n, facts=facts(n + 1.0, 0.01), evaluator="second", trace_id=f"p{n}") for n in range(10)]
    made += [stored(40, facts=facts(100.0, 0.21), inclusion=1.0), stored(41)]
    report = await report_of(store, *made)
    traces = report.traces
    assert (traces.n, traces.with_cost, traces.with_tokens) == (12, 11, 11)
    assert traces.tokens == {"input": 100, "cached": 50, "output": 10, "reasoning": 0}
    assert (traces.p50, traces.p95) == (6.0, 100.0)
    assert traces.cost == pytest.approx((10 * 0.01 + 0.21) / 11)  # the second evaluator was sure to see them
    assert only(await report_of(store, evaluator="second")).overall.rows == 10


async def test_versions_of_the_applications_prompt_are_breaks(store: Store) -> None:
    made = [stored(n, age=8 - n, facts={"prompts": [f"answer@{1 + n // 4}", "tone@1"]}) for n in range(8)]
    report = await report_of(store, *made)
    assert [(one.at, one.what) for one in report.breaks] == [(NOW - 4 * DAY, "prompt: answer@2")]
    assert [rate.value for rate in only(report).by["prompt"]] == ["tone@1", "answer@1", "answer@2"]


async def test_many_values_of_a_tag_are_told_apart_up_to_a_limit(store: Store) -> None:
    made = [stored(n, facts={"tags": [f"user-{n:03}"]}) for n in range(130)]
    tags = only(await report_of(store, *made)).by["tag"]
    assert len(tags) == 101
    assert (tags[0].value, tags[0].rows) == ("(other)", 30)


async def test_cut_windows_spend_and_what_left_no_row_are_shown(store: Store, clock: Clock) -> None:
    ledger = StoredLedger(store=store, caps={"grounded": [Cap(micro_dollars=10_000, per="day")]}, clock=clock)
    for money in (9_950, 4_000):
        held = await ledger.reserve(Account(evaluator="grounded"), money)
        assert held is not None
        await ledger.settle(held, Usage(micro_dollars=money))
        clock.forward(days=-1)
    cut: dict[str, Any] = {"source": "prod", "evaluator": "grounded", "why": "cap", "n": 7}
    await store.write(gaps.note, **cut, key="k", starts_at=NOW - DAY, ends_at=NOW - DAY / 2, now=NOW)
    await store.write(counts.add, "grounded", {"sampled_out": 90}, now=NOW - DAY)
    report = await report_of(
        store, stored(0, age=0.75), stored(1, None, age=0.75, status="skipped", reason="over_budget")
    )
    assert [(one.whose, one.per, one.windows, one.micro_dollars, one.cap, one.at_cap) for one in report.spent] == [
        ("grounded", "day", 2, 13_950, 10_000, 1)
    ]
    assert [(one.evaluator, one.why, one.skipped) for one in report.cuts] == [("grounded", "cap", 7)]
    assert report.days_cut("grounded") == {(NOW - DAY).date(), (NOW - DAY / 2).date()}
    assert report.days_cut("second") == set()
    assert report.not_judged == {"grounded": {"sampled_out": 90}}
    assert only(report).overall.statuses["skipped:over_budget"] == 1


async def test_a_calibration_stands_in_the_report_and_grows_stale(store: Store) -> None:
    judge: dict[str, Any] = {"kind": "llm", "model": "gpt-5-mini", "prompt_digest": "d1", "parameters": {}}
    made = StoredCalibration(
        evaluator="grounded",
        metric="agent.hallucination",
        metric_version="1.0.0",
        partition_type="trace",
        fingerprint="f1",
        judge=judge,
        n=40,
        kappa=0.714,
        figures={},
        made_at=NOW - 12 * DAY,
    )
    await store.write(calibrations.add, made)
    await store.write(calibrations.add, made)
    assert len(await store.read(calibrations.list_calibrations)) == 1
    new = [stored(n, fingerprint="f2", judge={**judge, "model": "gpt-6"}) for n in range(3)]
    report = await report_of(store, stored(10, age=2), *new)
    first, second = report.groups
    assert first.calibration == "judge calibrated 12 days ago on 40 rows: kappa 0.71"
    assert not first.calibration_stale
    assert second.calibration_stale
    assert "stale: the judge has changed since" in second.calibration


async def test_a_metric_without_a_judge_needs_no_calibration(store: Store) -> None:
    made = [stored(0, metric="code.grader", label="pass"), stored(1, metric="a.metric.of.tomorrow")]
    report = await report_of(store, *made)
    assert [(one.metric, one.calibration, one.calibration_stale) for one in report.groups] == [
        ("a.metric.of.tomorrow", "judge never calibrated against people", True),
        ("code.grader", "checked in code", False),
    ]
    assert (report.groups[1].overall.hallucinated, report.groups[1].overall.score) == (None, 1.0)


async def test_the_page_is_whole_escaped_and_loads_nothing(store: Store, tmp_path: Path) -> None:
    hostile = '"><script>alert(1)</script>'
    made = [
        stored(n, "hallucinated" if n % 3 else "grounded", age=1 + n % 9, facts={"tags": [hostile], "latency": 1.5})
        for n in range(40)
    ]
    made += [stored(50 + n, age=0.5 * n, fingerprint="f2") for n in range(4)]
    report = await report_of(store, *made)
    folder = tmp_path / "page"
    path = folder / "rates.html"
    folder.mkdir()
    write_rates_html(report, path)
    page = path.read_text(encoding="utf-8")
    assert list(folder.iterdir()) == [path]
    assert "alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "default-src 'none'" in page
    assert re.search(r"(?:src|href)=\"?https?:", page) is None
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) == 3  # two groups and the latency
    for chart in charts:
        drawn = ET.fromstring(chart)  # noqa: S314 - our own page
        assert len(list(drawn.iter("circle"))) >= 2
    assert len(list(ET.fromstring(charts[0]).iter("line"))) > 10  # noqa: S314 - as above
    assert 'class="break"' in charts[0]
    told = json.loads(rates_as_json(report))
    assert told["groups"][0]["overall"]["rows"] == 40
    first = rate_chart(report, report.groups[0])
    assert first is not None
    assert all(0 <= point.high <= point.y <= point.low <= 180 for point in first.points)
    assert all(0 <= point.x <= 640 for point in first.points)


async def test_an_empty_state_gives_an_empty_report(store: Store, tmp_path: Path) -> None:
    report = await report_of(store)
    assert (report.groups, report.traces.n, report.traces.p50) == ((), 0, None)
    assert latency_chart(report) is None
    write_rates_html(report, tmp_path / "rates.html")
    assert "There are no rows to show." in (tmp_path / "rates.html").read_text(encoding="utf-8")
