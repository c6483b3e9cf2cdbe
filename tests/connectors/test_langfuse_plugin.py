"""groundwire as an evaluator inside Langfuse's own SDK, run by the real SDK against the loopback app."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp, served
from tests.connectors.langfuse_rows import agent_trace, settings_for

from groundwire.connectors.langfuse import evaluator, whole_trace
from groundwire.scorer import ConfigError, Partition, Row


class Lengths:
    """A metric that scores by the number of tool spans; it keeps what it was asked."""

    def __init__(self, score: float | None = 0.5) -> None:
        self._score = score
        self.asked: list[Partition] = []

    async def score(self, partition: Partition) -> Row:
        self.asked.append(partition)
        return Row(
            row_id="row-1",
            partition_id=partition.partition_id,
            partition_type=partition.partition_type,
            trace_id=partition.trace_id,
            metric="agent.hallucination",
            metric_version="1.0.0",
            status="scored" if self._score is not None else "unknown",
            reason=None if self._score is not None else "no_evidence",
            score=self._score,
            direction="higher_is_better",
            config_fingerprint="f" * 16,
            groundwire_version="0",
            created_at=datetime(2026, 11, 30, tzinfo=UTC),
        )


@pytest.fixture(scope="module")
def app() -> LangfuseApp:
    return LangfuseApp()


@pytest.fixture(scope="module")
def langfuse(app: LangfuseApp) -> Iterator[Any]:
    """One client for all tests: the SDK keeps one for each public key."""
    from langfuse import Langfuse

    with served(app) as url:
        client = Langfuse(base_url=url, public_key=PUBLIC_KEY, secret_key=SECRET_KEY, timeout=20)
        yield client, url
        client.shutdown()


MESSAGES = [
    {"role": "user", "content": "Where is order 42?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id":42}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"status":"shipped"}'},
]


async def test_the_evaluator_is_what_the_sdk_calls() -> None:
    from langfuse import Evaluation

    metric = Lengths()
    evaluate = evaluator(metric, name="grounded")
    assert evaluate.__name__ == "grounded"
    found = await evaluate(
        input=json.dumps(MESSAGES), output="It has shipped.", expected_output=None, metadata=None, more="ignored"
    )
    assert [type(one) for one in found] == [Evaluation]
    assert (found[0].name, found[0].value, found[0].data_type) == ("grounded", 0.5, "NUMERIC")
    assert found[0].metadata == {"row_id": "row-1", "config_fingerprint": "f" * 16}
    partition = metric.asked[0]
    assert partition.partition_type == "trace"
    assert [(span.kind, span.output) for span in partition.spans] == [("LLM", None), ("TOOL", '{"status":"shipped"}')]


async def test_no_score_is_no_evaluation_and_never_zero() -> None:
    assert await evaluator(Lengths(None))(input="q", output="a") == []
    found = await evaluator(Lengths(None), name="g", write_status=True)(input="q", output="a")
    assert [(one.name, one.value, one.data_type) for one in found] == [
        ("g.status", "unknown: no_evidence", "CATEGORICAL")
    ]
    metric = Lengths()
    await evaluator(metric, level="span")(input=MESSAGES, output={"role": "assistant", "content": "Yes."})
    assert metric.asked[0].partition_type == "span"
    with pytest.raises(ConfigError):
        evaluator(Lengths(), name="")


def test_run_experiment(langfuse: Any) -> None:
    client, _ = langfuse
    result = client.run_experiment(
        name="orders",
        data=[{"input": MESSAGES, "expected_output": None}],
        task=lambda *, item, **_: "It has shipped.",
        evaluators=[evaluator(Lengths(), name="grounded")],
    )
    assert [(one.name, one.value) for one in result.item_results[0].evaluations] == [("grounded", 0.5)]


def test_run_batched_evaluation_over_whole_traces(langfuse: Any, app: LangfuseApp) -> None:
    client, url = langfuse
    now = datetime.now(UTC)
    for number in range(3):
        agent_trace(app, number, end=now - timedelta(minutes=number + 1))
    metric = Lengths()
    result = client.run_batched_evaluation(
        mapper=whole_trace(settings_for(url)),
        evaluators=[evaluator(metric, name="grounded")],
        filter=json.dumps([{"type": "boolean", "column": "isRootObservation", "operator": "=", "value": True}]),
    )
    client.flush()
    assert result.total_items_processed == 3
    assert result.total_items_failed == 0
    assert sorted(len(partition.spans) for partition in metric.asked) == [3, 3, 3]
    scored = [score["observationId"] for score in app.shown() if score["name"] == "grounded"]
    assert {f"{number:012x}0000" for number in range(3)} <= set(scored)
