"""What `where` lets in, field by field, and what is never judged whatever it says."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from groundwire.connectors import WHERE_FIELDS, Trace, connector_names, load_connector
from groundwire.connectors.testing import make_sample
from groundwire.jobs.filters import is_loop, matches, matches_span, may_match
from groundwire.jobs.spec import SpanWhere, Where
from groundwire.scorer import ConfigError

TRACE = make_sample(0, end=datetime(2026, 11, 30, tzinfo=UTC)).trace
ROOT = TRACE.spans[0]
LIKE: dict[str, list[Any]] = {
    "environment": ["production", ["staging", "production"], "prod*"],
    "tags": ["orders", ["orders", "batch-0"]],
    "name": ["order-agent", "order-*", "?rder-agent"],
    "user": ["user-0"],
    "session": ["session-0-0"],
    "metadata": [{"index": 0}, {"index": "0"}],
    "release": ["1.0"],
    "level": ["DEFAULT"],
    "min_duration": [6, "5s"],
    "max_duration": [6, "1m"],
    "has_error": [False],
}
UNLIKE: dict[str, list[Any]] = {
    "environment": ["Production", "staging"],
    "tags": ["support", ["orders", "support"]],
    "name": ["order", "quiz"],
    "user": ["user-1"],
    "session": ["session-0-1"],
    "metadata": [{"index": 1}, {"absent": ""}],
    "release": ["2.*"],
    "level": ["ERROR", ["DEBUG", "WARNING"]],
    "model": ["nobody"],
    "min_duration": ["6001ms"],
    "max_duration": [5.9],
    "has_error": [True],
}


OTHERS = "llm-as-a-judge"
"""Langfuse's, when its own prefix was taken off on the way."""


def where(field: str, value: Any) -> Where:
    return Where.model_validate({field: value})


def test_every_field_is_tried() -> None:
    assert set(UNLIKE) == set(WHERE_FIELDS)
    assert set(LIKE) | {"model"} == set(WHERE_FIELDS)


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in LIKE.items() for value in values])
def test_lets_in(field: str, value: Any) -> None:
    assert matches(TRACE, where(field, value))
    assert may_match(TRACE, where(field, value))


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in UNLIKE.items() for value in values])
def test_keeps_out(field: str, value: Any) -> None:
    assert not matches(TRACE, where(field, value))


def test_a_model_that_any_span_called() -> None:
    called = ROOT.model_copy(update={"model": "gpt-5-mini"})
    assert matches(replace(TRACE, spans=(called, *TRACE.spans[1:])), where("model", ["o9", "gpt-5*"]))


def test_all_fields_must_hold_and_what_is_absent_matches_nothing() -> None:
    both = Where.model_validate({"name": "order-agent", "environment": "staging"})
    assert not matches(TRACE, both)
    bare = Trace(trace_id="t", spans=TRACE.spans, source="fake")
    assert matches(bare, Where())
    assert not matches(bare, where("environment", "*"))
    assert not matches(replace(bare, spans=()), where("min_duration", 0))


def test_the_target_of_a_span() -> None:
    span = ROOT.model_copy(update={"name": "answer", "model": "m-1", "status": "error"})
    assert matches_span(span, SpanWhere(name=("answer",), model=("m-*",), has_error=True))
    assert not matches_span(span, SpanWhere(name=("plan",)))
    assert not matches_span(span, SpanWhere(has_error=False))


@pytest.mark.parametrize(
    "environment", ["langfuse-llm-as-a-judge", "langfuse", "Langfuse-x", "llm-as-a-judge", "groundwire"]
)
def test_evaluators_environments_are_refused(environment: str) -> None:
    assert is_loop(replace(TRACE, environment=environment))


def test_other_evaluators_traces_are_refused() -> None:
    assert is_loop(replace(TRACE, tags=("groundwire",)))
    assert is_loop(replace(TRACE, metadata={"langsmith.project": "Evaluators"}))
    assert is_loop(replace(TRACE, spans=(ROOT.model_copy(update={"kind": "EVALUATOR"}), *TRACE.spans[1:])))
    assert not is_loop(TRACE)
    assert not is_loop(replace(TRACE, environment="production", metadata={"langsmith.project": "evaluation-app"}))


@pytest.mark.parametrize("platform", connector_names())
def test_each_platform_has_a_field_or_names_what_to_write_instead(platform: str) -> None:
    connector = load_connector(platform)
    for field in WHERE_FIELDS:
        if field in connector.where_fields:
            connector.check_where([field])
        else:
            with pytest.raises(ConfigError, match="has none; use "):
                connector.check_where([field])
    with pytest.raises(ConfigError, match="did you mean `environment`"):
        connector.check_where(["enviroment"])
