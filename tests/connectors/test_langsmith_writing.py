"""Scores written to LangSmith on loopback: one each, whatever the server does with a second one."""

import json
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.langfuse_rows import Clock
from tests.connectors.langsmith_app import PROJECT
from tests.connectors.langsmith_runs import NOON, agent_trace, run, sink_for, trace_id_of
from tests.connectors.test_langsmith_reading import loopback

from groundwire.connectors import Delivery, Score, Target
from groundwire.connectors.langsmith.feedback import Unsendable, bounded, feedback_of, update_of
from groundwire.scorer import GiveUp

START = NOON - timedelta(seconds=105)


def score(number: int = 1, value: float | str | None = 0.123456, **more: Any) -> Score:
    trace_id = trace_id_of(number)
    target = {"project": "prod", "trace_id": trace_id, "root_span_id": trace_id, "start_time": START}
    return Score(
        **{
            "score_id": str(uuid5(NAMESPACE_URL, f"{number} {more.get('name')}")),
            "name": "groundedness",
            "value": value,
            "comment": "0.12 · 1 of 8 claims grounded",
            "metadata": {"row_id": "r1", "judge": "offline rules", "flags": []},
            **more,
            "target": Target(**{**target, **more.get("target", {})}),
        }
    )


async def test_a_score_is_one_synchronous_feedback_that_keeps_the_retention() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=100))
        sink = sink_for(url, clock)
        deliveries = await sink.push([score(lower_is_better=True)])
        await sink.close()
    assert [one.state for one in deliveries] == ["delivered"]
    assert app.feedback == [
        {
            "id": score().score_id,
            "run_id": trace_id_of(1),
            "trace_id": trace_id_of(1),
            "session_id": PROJECT,
            "start_time": "2026-11-30T11:58:15.000000Z",
            "key": "groundedness",
            "score": 0.1235,
            "comment": "0.12 · 1 of 8 claims grounded",
            "feedback_source": {
                "type": "model",
                "metadata": {
                    "evaluator": "groundedness",
                    "by": "groundwire",
                    "row_id": "r1",
                    "judge": "offline rules",
                },
            },
            "extra": {"row_id": "r1", "judge": "offline rules", "flags": []},
            "extend_trace_retention": False,
        }
    ]
    assert app.feedback_configs == {
        "groundedness": {
            "feedback_key": "groundedness",
            "is_enforced": False,
            "feedback_config": {"type": "continuous", "min": 0, "max": 1},
            "is_lower_score_better": True,
        }
    }


@pytest.mark.parametrize("habit", ["upsert", "conflict", "double"])
@pytest.mark.parametrize("restarted", [False, True])
async def test_one_score_whatever_a_second_post_does(habit: Any, restarted: bool) -> None:
    clock = Clock(NOON)
    with loopback(clock, post_again=habit) as (app, url):
        for number in range(60):
            agent_trace(app, number, end=NOON - timedelta(seconds=100))
        sink = sink_for(url, clock)
        await sink.push([score(number) for number in range(60)])
        if restarted:
            await sink.close()
            sink = sink_for(url, clock)
        again = [score(number, 0.9, comment="again") for number in range(60)]
        assert {one.state for one in await sink.push([*again, again[0]])} == {"delivered"}
        await sink.close()
    assert len(app.feedback) == 60
    assert {(one["score"], one["comment"]) for one in app.feedback} == {(0.9, "again")}
    assert all(one["extend_trace_retention"] is False for one in app.feedback)


async def test_a_conflict_on_a_feedback_that_a_look_did_not_show_is_a_patch() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=100))
        sink = sink_for(url, clock)
        await sink.push([score()])
        app.feedback[0]["key"] = "renamed"  # the look by key finds nothing; the id is there all the same
        assert [one.state for one in await sink.push([score(value=0.5)])] == ["delivered"]
        await sink.close()
    assert [one["score"] for one in app.feedback] == [0.5]


async def test_a_run_that_is_not_there_yet_is_waited_for() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        trace_id = trace_id_of(1)
        app.put(run(trace_id, trace_id, start=START), visible_in=3)
        sink = sink_for(url, clock)
        assert [one.state for one in await sink.push([score()])] == ["delivered"]
        soon: list[Delivery] = []
        later: list[Delivery] = []
        for _ in range(12):
            [delivery] = await sink.push([score(2)])
            (soon if delivery.after < 60 else later).append(delivery)
            clock.forward(delivery.after)
        await sink.close()
    assert {one.state for one in (*soon, *later)} == {"retry"}
    assert (len(soon), len(later)) == (6, 6), "within two minutes soon, after that rarely"
    assert (soon[0].after, later[0].after) == (15.0, 300.0)


async def test_a_score_is_withdrawn_by_clearing_it_and_can_come_back() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=100))
        sink = sink_for(url, clock)
        await sink.push([score()])
        assert [one.state for one in await sink.push([score(value=None), score(7, None)])] == ["delivered"] * 2
        assert app.shown() == []
        assert app.feedback[0]["score"] is None
        await sink.push([score(value=0.75)])
        await sink.close()
    assert [one["score"] for one in app.shown()] == [0.75]


async def test_a_session_is_scored_on_its_last_turn_and_a_span_on_itself() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=100))
        span_id = next(row["id"] for row in app.runs if row["run_type"] == "llm")
        sink = sink_for(url, clock)
        await sink.push(
            [
                score(name="thread", target={"session_id": "chat-1", "root_span_id": None}),
                score(name="span", target={"span_id": span_id, "root_span_id": None}),
            ]
        )
        await sink.close()
    by_key = {one["key"]: one for one in app.feedback}
    assert by_key["thread"]["run_id"] == trace_id_of(1)
    assert by_key["thread"]["extra"]["thread_id"] == "chat-1"
    assert (by_key["span"]["run_id"], by_key["span"]["trace_id"]) == (span_id, trace_id_of(1))
    assert "thread_id" not in by_key["span"]["extra"]


@pytest.mark.parametrize("configs", ["exists", "forbidden", "none"])
async def test_a_configuration_that_can_not_be_made_stops_nothing_and_is_asked_for_once(configs: Any) -> None:
    clock = Clock(NOON)
    with loopback(clock, configs=configs) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=100))
        sink = sink_for(url, clock)
        for _ in range(3):
            assert [one.state for one in await sink.push([score()])] == ["delivered"]
        await sink.close()
    assert app.calls["POST /feedback-configs"] == 1


async def test_settings_extend_the_retention_mark_errors_and_leave_configurations_alone() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=100))
        sink = sink_for(url, clock, extend_trace_retention=True, mark_errors=True, create_config=False)
        await sink.push([score(), score(value="error: judge_error", name="groundedness.status")])
        findings = {finding.what: finding for finding in await sink.check()}
        await sink.close()
    by_key = {one["key"]: one for one in app.feedback}
    assert all(one["extend_trace_retention"] is True for one in app.feedback)
    assert by_key["groundedness.status"]["error"] is True
    assert by_key["groundedness.status"]["value"] == "error: judge_error"
    assert "error" not in by_key["groundedness"]
    assert app.feedback_configs == {}
    assert findings["retention"].state == "warning"


async def test_what_is_refused_is_told_and_the_rest_is_delivered() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=100))
        sink = sink_for(url, clock)
        bad = score(name="", score_id=str(uuid5(NAMESPACE_URL, "bad")))
        infinite = score(value=float("inf"), score_id=str(uuid5(NAMESPACE_URL, "inf")))
        worse = score(score_id="no-uuid")
        deliveries = await sink.push([bad, score(), infinite, worse])
        await sink.close()
    assert [one.state for one in deliveries] == ["refused", "delivered", "refused", "refused"]
    assert "UUID" in deliveries[3].reason
    assert len(app.feedback) == 1


async def test_the_sdks_sampling_of_traces_drops_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING_SAMPLING_RATE", "0.0")
    monkeypatch.setenv("LANGSMITH_TENANT_ID", "somebody-elses")
    monkeypatch.setenv("LANGCHAIN_CUSTOM_HEADERS", "X-API-Key: another-key")
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=100))
        sink = sink_for(url, clock)
        assert [one.state for one in await sink.push([score()])] == ["delivered"]
        await sink.close()
    assert len(app.feedback) == 1


async def test_an_outage_amid_a_batch_leaves_the_rest_for_later() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        for number in range(3):
            agent_trace(app, number, end=NOON - timedelta(seconds=100))
        sink = sink_for(url, clock, in_flight=1, create_config=False)
        await sink.push([score(0)])
        app.fail(503, times=1)  # the look, which is tried again
        app.limits["feedback"] = (2, 10.0)  # one was made before
        deliveries = await sink.push([score(1), score(2)])
        await sink.close()
        assert [one.state for one in deliveries] == ["delivered", "delivered"], "it waits and goes on"
        app.forbidden = True
        sink = sink_for(url, clock)
        with pytest.raises(GiveUp):
            await sink.push([score(1)])
        await sink.close()


@given(
    st.floats(allow_nan=True, allow_infinity=True) | st.text() | st.none(),
    st.text(alphabet=st.characters(), max_size=50),
    st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=4),
)
def test_whatever_is_to_be_written_is_sendable_or_refused(value: Any, comment: str, metadata: dict[str, Any]) -> None:
    one = score(value=value, comment=comment, metadata=metadata)
    try:
        body = update_of(one) if value is None else None
        body = body or feedback_of(one, project_id=PROJECT, extend_retention=False, mark_errors=False)
    except Unsendable:
        assert value == "" or not isinstance(value, str)
        return
    sent = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    assert b"\\u0000" not in sent
    assert len(sent) < 45_000
    if isinstance(value, float):
        assert body["score"] == round(value, 4)


def test_what_does_not_fit_into_extra_is_named() -> None:
    assert bounded({"a": 1, "claims": "x" * 40_000}) == {"a": 1, "left_out": ["claims"]}
    assert bounded({"a": 1}) == {"a": 1}
