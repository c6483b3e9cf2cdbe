"""The line on the fake platform: each trace scored once, whatever comes twice, late or out of order."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.flow.rig import START, evaluator, knowing, rig
from tests.scorer.scripted import ScriptedJudge

from groundwire.connectors import Window
from groundwire.connectors.testing import make_samples
from groundwire.jobs.store import counts, cursors
from groundwire.scorer import DraftClaim, Failure, GiveUp, Reply


async def test_every_trace_is_scored_once_and_its_score_stands_on_the_platform(tmp_path: Path) -> None:
    samples = list(make_samples(40, seed=1, first_end=START - timedelta(hours=1)))
    async with rig(tmp_path, judge=knowing(samples)) as r:
        r.platform.put_all(sample.trace for sample in samples)
        first = await r.turn()
        assert sum(first.by_status.values()) == 40
        assert (await r.deliver()).refused == 0
        again = await r.turn()
        assert again.by_status == {}
        assert (await r.deliver()).delivered == 0
        stored = await r.rows()
        assert {one.row.trace_id: (one.row.score, one.row.reason) for one in stored} == {
            sample.trace.trace_id: (sample.score, sample.rule) for sample in samples
        }
        assert {score.trace_id: score.value for score in r.platform.scores()} == {
            sample.trace.trace_id: sample.score for sample in samples if sample.score is not None
        }


async def test_a_late_span_is_scored_again_under_the_same_id_and_the_comment_says_so(tmp_path: Path) -> None:
    [sample] = make_samples(1, invalid=0, hallucinated=1, first_end=START - timedelta(minutes=30))
    judge = knowing([sample])
    async with rig(tmp_path, judge=judge) as r:
        r.platform.put(sample.trace)
        await r.turn()
        await r.deliver()
        [before] = r.platform.scores()
        judge.labels = {}
        late = sample.trace.spans[2].model_copy(
            update={"span_id": "late", "name": "late", "tool_name": "late", "output": {"found": "later"}}
        )
        r.platform.add_span(late)
        r.clock.forward(minutes=5)
        second = await r.turn()
        await r.deliver()
        assert second.by_status == {"scored": 1}
        [after] = r.platform.scores()
        assert (after.score_id, after.value) == (before.score_id, 1.0)
        assert f"re-scored: 1 span arrived later (before: {before.value:.2f})" in after.comment
        history = await r.rows(history=True)
        assert [(one.row.score, one.superseded_at is None) for one in history] == [(before.value, False), (1.0, True)]


async def test_a_trace_is_not_judged_before_it_has_settled_nor_before_it_has_ended(tmp_path: Path) -> None:
    [sample] = make_samples(1, invalid=0, hallucinated=0, first_end=START - timedelta(seconds=10))
    async with rig(tmp_path, [{"settle": "60s"}]) as r:
        r.platform.put(sample.trace)
        assert (await r.turn()).by_status == {}
        r.clock.forward(seconds=60)
        assert (await r.turn()).by_status == {"scored": 1}


async def test_a_trace_that_never_ends_is_unknown_incomplete_after_max_wait(tmp_path: Path) -> None:
    [sample] = make_samples(1, invalid=0, first_end=START - timedelta(minutes=5))
    root, *rest = sample.trace.spans
    open_trace = replace(sample.trace, spans=(root.model_copy(update={"end_time": None}), *rest))
    async with rig(tmp_path, [{"max_wait": "10m"}]) as r:
        r.platform.put(open_trace)
        assert (await r.turn()).by_status == {}
        r.clock.forward(minutes=5)
        assert (await r.turn()).by_status == {}
        r.clock.forward(minutes=6)
        assert (await r.turn()).by_status == {"unknown": 1}
        [stored] = await r.rows()
        assert (stored.row.status, stored.row.reason, stored.row.score) == ("unknown", "incomplete", None)
        assert r.platform.scores() == []


async def test_what_was_scored_and_is_unknown_now_loses_its_score(tmp_path: Path) -> None:
    [sample] = make_samples(1, invalid=0, first_end=START - timedelta(minutes=30))
    judge = knowing([])
    async with rig(tmp_path, [{"write_status": True}], judge=judge) as r:
        r.platform.put(sample.trace)
        await r.turn()
        await r.deliver()
        assert [score.name for score in r.platform.scores()] == ["grounded"]
        judge.fail = {"label": Failure(status="unknown", reason="judge_refused")}
        tool = sample.trace.spans[2]
        r.platform.add_span(tool.model_copy(update={"span_id": "late", "output": {"found": "later"}}))
        r.clock.forward(minutes=5)
        await r.turn()
        await r.deliver()
        assert [(score.name, score.value) for score in r.platform.scores()] == [
            ("grounded.status", "unknown: judge_refused")
        ]
        judge.fail = {}
        r.platform.add_span(tool.model_copy(update={"span_id": "later", "output": {"found": "much later"}}))
        r.clock.forward(minutes=5)
        await r.turn()
        await r.deliver()
        assert [(score.name, score.value) for score in r.platform.scores()] == [("grounded", 1.0)]


async def test_an_error_is_tried_again_and_then_final(tmp_path: Path) -> None:
    [sample] = make_samples(1, invalid=0, first_end=START - timedelta(minutes=30))
    judge = knowing([])
    judge.fail = {"split": Failure(status="error", reason="judge_unreachable")}
    async with rig(tmp_path, [{"max_attempts": 3}], judge=judge) as r:
        r.platform.put(sample.trace)
        for _ in range(2):
            assert (await r.turn()).by_status == {}
            r.clock.forward(hours=1)
        assert (await r.turn()).by_status == {"error": 1}
        assert len(judge.asked) == 3
        r.clock.forward(hours=1)
        assert (await r.turn()).by_status == {}


async def test_evaluators_own_traces_are_refused_with_a_row(tmp_path: Path) -> None:
    [sample] = make_samples(1, invalid=0, first_end=START - timedelta(minutes=30))
    judge = knowing([])
    async with rig(tmp_path, judge=judge) as r:
        r.platform.put(replace(sample.trace, environment="langfuse-llm-as-a-judge"))
        assert (await r.turn()).by_status == {"skipped": 1}
        [stored] = await r.rows()
        assert (stored.row.reason, judge.asked) == ("loop", [])


async def test_filter_and_sampling_leave_counts_and_no_rows(tmp_path: Path) -> None:
    samples = list(make_samples(200, invalid=0, hallucinated=0, first_end=START - timedelta(hours=2)))
    specs: list[dict[str, Any]] = [
        {"name": "tenth", "sample": 0.1},
        {"name": "half", "sample": 0.5},
        {"name": "nobody", "where": {"name": "quiz"}},
    ]
    async with rig(tmp_path, specs) as r:
        r.platform.put_all(sample.trace for sample in samples)
        progress = await r.turn()
        stored = await r.rows()
        by_name = {
            name: {one.row.trace_id for one in stored if one.evaluator == name} for name in ("tenth", "half", "nobody")
        }
        assert by_name["tenth"] < by_name["half"]
        assert by_name["nobody"] == set()
        assert {one.inclusion for one in stored if one.evaluator == "tenth"} == {0.1}
        totals = await r.store.read(counts.totals)
        assert totals["half", "sampled_out"] == 200 - len(by_name["half"])
        assert totals["nobody", "filtered"] == 200
        assert progress.examples["nobody"][0] == "order-agent"


async def test_a_changed_configuration_leaves_what_is_behind_it_alone(tmp_path: Path) -> None:
    samples = list(make_samples(5, invalid=0, first_end=START - timedelta(hours=2)))
    async with rig(tmp_path) as r:
        r.platform.put_all(sample.trace for sample in samples)
        assert (await r.turn()).by_status == {"scored": 5}
        r.evaluators = [evaluator(clock=r.clock, config={"max_total_context": 4000})]
        r.platform.put_all(sample.trace for sample in samples)
        assert (await r.turn()).by_status == {}


async def test_a_judge_that_is_lost_stops_its_evaluator_and_no_other(tmp_path: Path) -> None:
    class Lost(ScriptedJudge):
        async def split(self, question: str, answer: str) -> Reply[tuple[DraftClaim, ...]]:
            raise GiveUp("judge: the quota is exhausted; add credit")

    samples = list(make_samples(10, invalid=0, hallucinated=0, first_end=START - timedelta(hours=2)))
    async with rig(tmp_path, [{"name": "fine"}]) as r:
        r.evaluators.append(evaluator(Lost(), clock=r.clock, name="lost"))
        r.platform.put_all(sample.trace for sample in samples)
        await r.store.write(cursors.acquire, "prod", owner="test", now=r.clock(), until=r.clock() + timedelta(hours=1))
        line = r.line()
        progress = await line.turn(Window(start=START - timedelta(days=2)))
        assert progress.by_status == {"scored": 10}
        assert line.gave_up == {"lost": "judge: the quota is exhausted; add credit"}
        r.evaluators[1] = evaluator(clock=r.clock, name="lost")
        r.clock.forward(minutes=11)
        assert (await r.turn()).by_status == {"scored": 10}
