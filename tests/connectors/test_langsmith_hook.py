"""A LangSmith rule's delivery, as documented and as it may be: which traces it speaks of."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connectors.langsmith_app import API_KEY, PROJECT
from tests.connectors.langsmith_runs import trace_id_of

from groundwire.connectors import Origin
from groundwire.connectors.langsmith import LangsmithHook, LangsmithSettings, langsmith
from groundwire.scorer import SkipThis

ONE, TWO = trace_id_of(1), trace_id_of(2)
HOOK = LangsmithHook(LangsmithSettings.model_validate({"api_key": API_KEY}))


def received(body: Any) -> list[Origin]:
    return list(HOOK.receive({}, body if isinstance(body, bytes) else json.dumps(body).encode()))


def ids(body: Any) -> list[str]:
    return [origin.trace_id for origin in received(body)]


def test_the_connector_builds_it() -> None:
    assert isinstance(langsmith.build_hook({"api_key": API_KEY}), LangsmithHook)


def test_the_documented_body() -> None:
    run = {
        "id": ONE, "trace_id": ONE, "session_id": PROJECT, "tenant_id": "t", "name": "Search", "run_type": "tool",
        "status": "success", "is_root": True, "start_time": "2024-04-05T01:28:54.085646",
        "end_time": "2024-04-05T01:28:54.085649", "parent_run_ids": [], "child_run_ids": None, "inputs": None,
        "inputs_s3_urls": None, "outputs": None, "outputs_s3_urls": None, "extra": None, "zz_new_field": {"a": [1]},
    }  # fmt: skip
    body = {"rule_id": "r", "start_time": "2024-04-05T01:28:54.734491+00:00", "runs": [run], "feedback_stats": {}}
    [origin] = received(body)
    assert origin == Origin(
        trace_id=ONE,
        start_time=datetime(2024, 4, 5, 1, 28, 54, 85646, tzinfo=UTC),
        end_time=datetime(2024, 4, 5, 1, 28, 54, 85649, tzinfo=UTC),
        hints={"project": PROJECT},
    )


def test_a_trace_comes_once_with_its_roots_times_however_many_of_its_runs_are_sent() -> None:
    child = {"id": TWO, "trace_id": ONE, "is_root": False, "start_time": "2026-01-01T00:00:05"}
    root = {"id": ONE, "trace_id": ONE, "start_time": "2026-01-01T00:00:00+02:00", "end_time": "2026-01-01T00:00:09Z"}
    [origin] = received({"runs": [child, root, child, root]})
    assert origin.start_time == datetime(2025, 12, 31, 22, tzinfo=UTC)
    [alone] = received({"runs": [child]})
    assert alone.start_time is None, "a child's start is not its trace's"


@pytest.mark.parametrize(
    ("threads", "found"),
    [
        ([{"thread_id": "t-1"}], ["t-1"]),
        (["t-1", "t-2"], ["t-1", "t-2"]),
        ([{"id": "t-1", "zz": 1}], ["t-1"]),
        ([{"thread_id": "t-1", "last_trace_id": ONE}], [ONE]),
        ([{"thread_id": "t-1", "runs": [{"id": ONE, "trace_id": ONE}, {"id": TWO, "trace_id": TWO}]}], [ONE, TWO]),
        ([{"thread_id": "t-1", "trace_ids": [ONE, TWO, ONE]}], [ONE, TWO]),
        ([{"thread_id": "t-1", "traces": [{"trace_id": TWO}, "no id"]}], [TWO]),
    ],
)
def test_threads_in_whatever_shape_they_come(threads: list[Any], found: list[str]) -> None:
    assert ids({"rule_id": "r", "threads": threads}) == found
    sessions = [origin.hints.get("session") for origin in received({"threads": threads})]
    assert sessions == [name if name.startswith("t-") else None for name in found]


def test_runs_and_threads_together_and_none_of_either() -> None:
    assert ids({"runs": [{"id": ONE}], "threads": [{"last_trace_id": TWO}]}) == [ONE, TWO]
    assert ids({"runs": []}) == []
    assert ids({"runs": None, "threads": []}) == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"runs": [' + b"[" * 5_000 + b"]" * 5_000 + b"]}", "bears an id|no JSON"),
        (b'{"runs": ' + b"9" * 5_000 + b"}", "no JSON"),
        (b"[]", "no JSON object"),
        (b'"runs"', "no JSON object"),
        ({}, "neither"),
        ({"runs": {"id": ONE}}, "neither"),
        ({"alert": "fired"}, "neither"),
        ({"runs": [1, None, "x", {}, {"id": 7}, {"id": "not-a-uuid"}]}, "bears an id"),
        ({"runs": [{"id": "../../sessions"}]}, "bears an id"),
        ({"threads": [{}, 3, {"thread_id": ""}]}, "bears an id"),
    ],
)
def test_bodies_that_cannot_be_used_are_refused_in_one_line_without_their_text(body: Any, says: str) -> None:
    with pytest.raises(SkipThis, match=says) as refusal:
        received(body)
    assert "not-a-uuid" not in str(refusal.value)


def test_odd_times_are_no_times() -> None:
    written: tuple[Any, ...] = ("0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-12:00", "yesterday", 1e300, [], True)
    for odd in written:
        [origin] = received({"runs": [{"id": ONE, "start_time": odd, "end_time": odd}]})
        assert (origin.start_time, origin.end_time) == (None, None)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.just(ONE),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["runs", "threads", "id", "trace_id", "thread_id", "start_time", "session_id"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=150, deadline=None)
@given(body=_JSON)
def test_no_body_is_anything_but_traces_or_a_refusal(body: Any) -> None:
    try:
        found = received(body)
    except SkipThis:
        return
    assert len({origin.trace_id for origin in found}) == len(found)
