"""What spans say of tokens, cost and prompts: each counted once, whatever platform wrote them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from groundwire.connectors import Trace
from groundwire.connectors.formats.langfuse import span_of_row
from groundwire.connectors.formats.langsmith import span_of_run
from groundwire.connectors.formats.otel import OtelSpan, canonical_span
from groundwire.jobs.facts import usage_facts
from groundwire.scorer import Span

START = datetime(2026, 11, 30, 10, tzinfo=UTC)


def span(span_id: str, parent: str | None = None, **fields: Any) -> Span:
    times = {"start_time": START, "end_time": START + timedelta(seconds=1)}
    return Span.model_validate(
        {"span_id": span_id, "trace_id": "t", "parent_id": parent, "kind": "LLM", "name": span_id, **times, **fields}
    )


def facts(*spans: Span) -> dict[str, Any]:
    return usage_facts(Trace(trace_id="t", spans=spans, source="otel"))


def test_an_agent_that_repeats_the_sum_of_its_calls_adds_nothing() -> None:
    call = {"input": 100, "output": 20, "cost": 0.25}
    found = facts(
        span("agent", kind="AGENT", usage={"input": 200, "output": 40, "cost": 0.5}),
        span("chain", "agent", kind="CHAIN"),
        span("first", "chain", usage=call),
        span("second", "agent", usage={**call, "input_cached_tokens": 60}),
    )
    assert found["usage"] == {"input": 200, "output": 40, "input_cached_tokens": 60, "cost": 0.5}
    assert found["tokens"] == {"input": 200, "cached": 60, "output": 40, "reasoning": 0}


def test_a_cost_that_only_the_root_tells_counts_beside_the_tokens_of_the_calls() -> None:
    found = facts(
        span("root", usage={"cost": 0.125}),
        span("call", "root", usage={"input": 10, "output": 5}),
    )
    assert found["usage"] == {"input": 10, "output": 5, "cost": 0.125}


def test_parents_that_go_in_circles_and_strange_counts_are_harmless() -> None:
    found = facts(
        span("a", "b", usage={"input": 1, "output": True}),
        span("b", "a", usage={"input": "many"}),
    )
    assert found == {"prompts": [], "usage": {"input": 1}, "tokens": {}}


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (
            span_of_row(
                {"id": "s", "type": "GENERATION", "startTime": "2026-11-30T10:00:00Z", "promptName": "answer",
                 "promptVersion": 4},
                "t",
            ),
            ["answer@4"],
        ),
        (
            span_of_run(
                {"id": "s", "run_type": "llm", "start_time": "2026-11-30T10:00:00", "extra": {
                    "metadata": {"lc_hub_repo": "answer", "lc_hub_commit_hash": "ab12"}}},
                "t",
            ),
            ["answer@ab12"],
        ),
    ],
)  # fmt: skip
def test_the_version_of_a_prompt_is_read_from_the_platforms_own_fields(read: Span | None, expected: list[str]) -> None:
    assert read is not None
    assert facts(read)["prompts"] == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"langfuse.observation.prompt.name": "answer", "langfuse.observation.prompt.version": 4}, ["answer@4"]),
        ({"llm.prompt_template.version": "v2"}, ["template@v2"]),
        ({"llm.prompt_template.template": "Say {x}"}, []),
    ],
)
def test_the_version_of_a_prompt_is_read_from_span_attributes(attributes: dict[str, Any], expected: list[str]) -> None:
    made = canonical_span(
        OtelSpan(
            trace_id="t",
            span_id="s",
            parent_id=None,
            name="chat",
            start_time=START,
            end_time=START,
            attributes=attributes,
        )
    )
    assert facts(made)["prompts"] == expected
