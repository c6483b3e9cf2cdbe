"""The gate of an evaluator: what needs no facts is counted and gets no row; what nobody can tell is judged."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.flow.rig import START, knowing, rig
from tests.scorer.scripted import ScriptedJudge

from groundwire.connectors import Trace
from groundwire.connectors.testing import make_samples
from groundwire.jobs.store import counts
from groundwire.scorer import Account, Failure, Message, TextPart

GATED: list[dict[str, Any]] = [{"when": "needs_fact_check"}]


def asking(*questions: str) -> list[Trace]:
    """Traces that ask these questions."""
    samples = make_samples(len(questions), invalid=0, hallucinated=0, first_end=START - timedelta(hours=1))
    found = []
    for sample, question in zip(samples, questions, strict=True):
        said = (Message(role="user", parts=(TextPart(content=question),)),)
        spans = [
            span.model_copy(update={"input_messages": said, "input": None}) if span.kind in ("AGENT", "LLM") else span
            for span in sample.trace.spans
        ]
        found.append(replace(sample.trace, spans=tuple(spans)))
    return found


def names(judge: ScriptedJudge) -> Sequence[str]:
    return [name for name, _ in judge.asked]


async def test_what_needs_no_facts_is_counted_and_gets_no_row(tmp_path: Path) -> None:
    judge = knowing([])
    judge.facts = False
    traces = asking("Where is my order?", "Thanks!", "Write a poem about the sea", "blue horizon")
    async with rig(tmp_path, GATED, judge=judge) as r:
        r.platform.put_all(traces)
        assert (await r.turn()).by_status == {"scored": 1}
        [stored] = await r.rows()
        assert stored.row.trace_id == traces[0].trace_id
        assert await r.store.read(counts.totals) == {
            ("grounded", "needs_fact_check"): 1,
            ("grounded", "no_fact_check_needed"): 3,
        }
        assert sorted(names(judge)) == [
            "label",
            "needs_facts",
            "split",
        ]  # only what its words don't tell is asked about
        r.clock.forward(minutes=5)
        r.platform.put_all(traces)  # the same again is nothing, and isn't counted again
        assert (await r.turn()).by_status == {}
        assert sum((await r.store.read(counts.totals)).values()) == 4
        await r.deliver()
        assert len(r.platform.scores()) == 1


async def test_the_gates_call_is_on_the_evaluators_account_and_in_the_row(tmp_path: Path) -> None:
    judge = knowing([])
    judge.facts = True
    [trace] = asking("blue horizon")
    async with rig(tmp_path, GATED, judge=judge) as r:
        r.platform.put(trace)
        await r.turn()
        [stored] = await r.rows()
        assert stored.row.usage.calls == 3
        assert {account.evaluator for account in judge.accounts} == {"grounded"}
        assert judge.accounts[0] == Account(evaluator="grounded", run_id="run-1", trace_id=trace.trace_id)


async def test_what_nobody_can_tell_is_judged_and_counted_as_such(tmp_path: Path) -> None:
    judge = knowing([])
    judge.fail = {"needs_facts": Failure(status="skipped", reason="over_budget")}
    async with rig(tmp_path, GATED, judge=judge) as r:
        r.platform.put_all(asking("blue horizon"))
        assert (await r.turn()).by_status == {"scored": 1}
        assert await r.store.read(counts.totals) == {("grounded", "fact_check_unknown"): 1}


async def test_without_a_gate_nothing_is_asked_or_counted(tmp_path: Path) -> None:
    judge = knowing([])
    async with rig(tmp_path, judge=judge) as r:
        r.platform.put_all(asking("Thanks!"))
        assert (await r.turn()).by_status == {"scored": 1}
        assert await r.store.read(counts.totals) == {}
        assert "needs_facts" not in names(judge)


async def test_an_evaluators_own_trace_reaches_no_gate(tmp_path: Path) -> None:
    judge = knowing([])
    [trace] = asking("blue horizon")
    async with rig(tmp_path, GATED, judge=judge) as r:
        r.platform.put(replace(trace, environment="langfuse-llm-as-a-judge"))
        assert (await r.turn()).by_status == {"skipped": 1}
        assert (judge.asked, await r.store.read(counts.totals)) == ([], {})


async def test_what_was_judged_once_is_judged_again_when_it_changes(tmp_path: Path) -> None:
    judge = knowing([])
    [trace] = asking("Where is my order?")
    async with rig(tmp_path, GATED, judge=judge) as r:
        r.platform.put(trace)
        await r.turn()
        said = (Message(role="user", parts=(TextPart(content="Thanks!"),)),)
        spans = [
            span.model_copy(update={"input_messages": said}) if span.kind in ("AGENT", "LLM") else span
            for span in trace.spans
        ]
        r.platform.put(replace(trace, spans=tuple(spans)))
        r.clock.forward(minutes=5)
        assert (await r.turn()).by_status == {"scored": 1}  # else an old score would stand for what is there now
        assert await r.store.read(counts.totals) == {("grounded", "needs_fact_check"): 1}


async def test_a_retry_counts_what_passed_once(tmp_path: Path) -> None:
    judge = knowing([])
    judge.fail = {"split": Failure(status="error", reason="judge_unreachable")}
    async with rig(tmp_path, GATED, judge=judge) as r:
        r.platform.put_all(asking("Where is my order?"))
        assert (await r.turn()).by_status == {}
        assert await r.store.read(counts.totals) == {}
        judge.fail = {}
        r.clock.forward(hours=1)
        assert (await r.turn()).by_status == {"scored": 1}
        assert await r.store.read(counts.totals) == {("grounded", "needs_fact_check"): 1}
