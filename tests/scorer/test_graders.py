"""The code graders: what passes, what doesn't and why, and what can't be graded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scorer.refusals import ANSWERED, PARTIAL, REFUSED

from groundwire.scorer import GRADERS, ConfigError, Grade, Sample, ToolCall, build_grader, read_refusal

SOURCES = {"refunds": "Refunds are issued within 14 days.", "region": "Data is stored in the EU."}


def grade(name: str, sample: Sample, **parameters: Any) -> Grade:
    return build_grader(name, parameters)(sample)


@pytest.mark.parametrize(
    ("answer", "expect", "passed"),
    [
        ("Refunds take 14 days.", "14 days", True),
        ("REFUNDS TAKE 14\n days", "14 Days", True),
        ("Refunds take 114 days.", "14 days", False),
        ("Refunds take 1.14 days.", "14 days", False),
        ("It costs 1,250 euros", "250", False),
        ("It's in the museum.", "EU", False),
        ("数据存储在EU地区。", "EU", True),
        ("데이터는 서울에 있습니다", "서울", True),
        ("Open 09:00 to 17:00 UTC.", "09:00 to 17:00 UTC", True),
        ("Both A and B.", ["A", "B"], True),
        ("Only A.", ["A", "B"], False),
        ("It is 42.", 42, True),
        ("anything", "", False),
    ],
)
def test_contains(answer: str, expect: Any, passed: bool) -> None:
    found = grade("answer_match", Sample(answer=answer, expect=expect))
    assert found.passed is passed
    assert bool(found.reason) is not passed


@pytest.mark.parametrize(
    ("parameters", "answer", "expect", "passed"),
    [
        ({"whole_words": False}, "It's in the museum.", "EU", True),
        ({"ignore_case": False}, "the eu", "EU", False),
        ({"mode": "exact"}, " Yes ", "yes", True),
        ({"mode": "exact"}, "Yes.", ["no", "yes."], True),
        ({"mode": "exact"}, "Yes, but", "yes", False),
        ({"mode": "regex"}, "Order A-1042", r"\bA-\d{4}\b", True),
        ({"mode": "regex"}, "Order A-10", r"\bA-\d{4}\b", False),
        ({"mode": "numeric"}, "It costs $1,249.50.", 1249.5, True),
        ({"mode": "numeric"}, "It costs 1.249,50 € heute.", "1249.5", True),
        ({"mode": "numeric", "tolerance": 0.5}, "About 1250 euros", 1249.5, True),
        ({"mode": "numeric", "tolerance": 0.4}, "About 1250 euros", 1249.5, False),
        ({"mode": "numeric", "tolerance": 0.01, "relative": True}, "1250", 1249.5, True),
        ({"mode": "numeric"}, "no number", 3, False),
        ({"mode": "numeric"}, "It weighs 2.4 kg", 2.4, True),
        ({"mode": "json_path", "path": "$.total"}, '{"total": 12.50}', 12.5, True),
        ({"mode": "json_path", "path": "$.items[*].id"}, '```json\n{"items": [{"id": 1}, {"id": 2}]}\n```', 2, True),
        ({"mode": "json_path", "path": "$.total"}, '{"total": true}', 1, False),
        ({"mode": "json_path", "path": "$.total"}, "{}", 1, False),
        ({"mode": "json_path", "path": "$.total"}, "twelve", 12, False),
        ({"mode": "json_path", "tolerance": 0.1}, '{"a": [1, {"b": 2.05}]}', {"a": [1, {"b": 2}]}, True),
        ({"mode": "json_path"}, '{"a": 1, "b": 2}', {"a": 1}, False),
        ({"expect": "14 days"}, "14 days", None, True),
        ({}, "14 days", None, None),
    ],
)
def test_the_other_ways_to_match(parameters: dict[str, Any], answer: str, expect: Any, passed: bool | None) -> None:
    assert grade("answer_match", Sample(answer=answer, expect=expect), **parameters).passed is passed


@given(st.text(min_size=1, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_a_text_stands_in_what_was_put_around_it(part: str, before: str, after: str) -> None:
    sample = Sample(answer=f"{before} {part} {after}", expect=part)
    if " ".join(part.split()):
        assert grade("answer_match", sample, whole_words=False).passed is True


@pytest.mark.parametrize(
    ("fields", "parameters", "passed", "says"),
    [
        ({"citations": ("refunds",), "cite": ("refunds",), "expect": "14 days"}, {}, True, ""),
        ({"citations": ("region",), "cite": ("refunds",)}, {}, False, "cites region, not refunds"),
        ({"citations": (), "cite": ("refunds",)}, {}, False, "cites nothing, not refunds"),
        ({"citations": ("refunds", "region"), "cite": ("refunds",)}, {}, False, "cites region as well"),
        ({"citations": ("refunds", "region"), "cite": ("refunds",)}, {"only": False}, True, ""),
        ({"citations": ("region",), "cite": ("region",), "expect": "14 days"}, {}, False, "doesn't hold"),
        ({"answer": "14 days [refunds].", "cite": ("refunds",)}, {}, True, ""),
        ({"answer": "14 days [refunds; region].", "cite": ("refunds",)}, {}, False, "region as well"),
        ({"answer": "14 days [1].", "cite": ("refunds",)}, {}, False, "cites nothing"),
        ({"citations": ("refunds",), "must_refuse": True}, {}, False, "no source says"),
        ({"citations": (), "must_refuse": True}, {}, True, ""),
        ({"citations": ("refunds",)}, {}, None, "no citation is expected"),
    ],
)
def test_citations(fields: dict[str, Any], parameters: dict[str, Any], passed: bool | None, says: str) -> None:
    found = grade("citation_match", Sample(sources=SOURCES, **fields), **parameters)
    assert found.passed is passed
    assert says in found.reason


CALLS = (ToolCall(name="refund", arguments={"order": 42, "to": {"iban": "X", "name": "A"}}), ToolCall(name="search"))


@pytest.mark.parametrize(
    ("calls", "parameters", "expect", "passed", "says"),
    [
        (CALLS, {"tool": "refund"}, None, True, ""),
        (CALLS, {"tool": "refund", "arguments": {"to": {"iban": "X"}}}, None, True, ""),
        (CALLS, {"tool": "refund", "arguments": {"order": 43}}, None, False, "with other arguments"),
        (CALLS, {"tool": "cancel"}, None, False, "never called cancel"),
        (CALLS, {"tool": "search", "arguments": {"q": "x"}}, None, False, "with other arguments"),
        (CALLS, {"tool": "refund", "times": 2}, None, False, "called refund 1 times, not 2"),
        (CALLS, {"tool": "refund", "times": 1}, None, True, ""),
        (CALLS, {"tool": "cancel", "never": True}, None, True, ""),
        (CALLS, {"tool": "refund", "never": True}, None, False, "called refund"),
        (CALLS, {}, {"tool": "refund", "arguments": {"order": 42}}, True, ""),
        ((), {"tool": "refund"}, None, False, "never called refund"),
        (None, {"tool": "refund"}, None, None, "nothing is known"),
    ],
)
def test_tools(calls: Any, parameters: dict[str, Any], expect: Any, passed: bool | None, says: str) -> None:
    found = grade("tool_called", Sample(tool_calls=calls, expect=expect), **parameters)
    assert found.passed is passed
    assert says in found.reason


SCHEMA = {
    "type": "object",
    "required": ["total"],
    "properties": {"total": {"type": "number"}, "other": {"$ref": "https://elsewhere.test/schema.json"}},
}


@pytest.mark.parametrize(
    ("answer", "passed", "says"),
    [
        ('{"total": 1}', True, ""),
        ('```json\n{"total": 1}\n```', True, ""),
        ('{"total": "SECRET"}', False, "$.total breaks the schema's type"),
        ("{}", False, "$ breaks the schema's required"),
        ("SECRET", False, "not JSON"),
        ("[" * 100_000, False, "not JSON"),
    ],
)
def test_schema(answer: str, passed: bool, says: str) -> None:
    found = grade("schema_valid", Sample(answer=answer), schema=SCHEMA)
    assert found.passed is passed
    assert says in found.reason
    assert "SECRET" not in found.reason


def test_limits() -> None:
    assert grade("cost_under", Sample(micro_dollars=1_000), usd=0.001).passed is True
    assert grade("cost_under", Sample(micro_dollars=1_001), usd=0.001).passed is False
    assert grade("cost_under", Sample(), usd=0.001).passed is None
    assert grade("latency_under", Sample(latency_seconds=1.0), seconds=1).passed is True
    assert grade("latency_under", Sample(latency_seconds=1.01), seconds=1).passed is False
    assert grade("latency_under", Sample(), seconds=1).passed is None


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        *((text, "refused") for text in REFUSED),
        *((text, "answered") for text in ANSWERED),
        *((text, "partial") for text in PARTIAL),
    ],
)
def test_what_refuses(answer: str, label: str) -> None:
    assert read_refusal(answer) == label


@pytest.mark.parametrize(
    ("answer", "must", "passed", "label"),
    [
        (REFUSED[0], True, True, "refused"),
        (REFUSED[0], False, False, "refused"),
        (ANSWERED[0], False, True, "answered"),
        (ANSWERED[0], True, False, "answered"),
        (PARTIAL[0], True, False, "partial"),
        (PARTIAL[0], False, False, "partial"),
    ],
)
def test_a_refusal_is_right_where_it_must_be(answer: str, must: bool, passed: bool, label: str) -> None:
    found = grade("refusal", Sample(answer=answer, must_refuse=must))
    assert (found.passed, found.label) == (passed, label)
    assert grade("refusal", Sample(answer=answer, must_refuse=not must), expected=must) == found


def test_a_grader_of_the_users_own() -> None:
    def short(sample: Sample, *, most: int = 10) -> bool | None:
        return len(sample.answer) <= most if sample.answer else None

    grader = build_grader(short, {"most": 3})
    assert [grader(Sample(answer=text)).passed for text in ("abc", "abcd", "")] == [True, False, None]
    assert build_grader(lambda _: Grade(passed=False, reason="never"), {})(Sample()).reason == "never"


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("answer_matches", {}, "no grader is called 'answer_matches'; there are: answer_match"),
        ("answer_match", {"mod": "exact"}, "no parameter 'mod'; its parameters: expect"),
        ("answer_match", {"mode": "fuzzy"}, "answer_match: mode"),
        ("latency_under", {}, "latency_under: seconds"),
        ("cost_under", {"usd": "much"}, "cost_under: usd"),
        ("schema_valid", {"schema": {"type": "nothing"}}, "the schema is none"),
        ("answer_match", {"mode": "regex", "expect": "("}, "no regular expression"),
        ("answer_match", {"mode": "json_path", "path": "$..["}, "no JSON path"),
        ("answer_match", {"mode": "numeric", "expect": "none"}, "needs a number"),
        ("tool_called", {}, "name the tool"),
    ],
)
def test_parameters_that_do_not_fit_are_one_line(name: str, parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        grade(name, Sample(answer="{}", expect="x", tool_calls=()), **parameters)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_every_grader_takes_an_empty_sample() -> None:
    needed: dict[str, dict[str, Any]] = {
        "cost_under": {"usd": 1},
        "latency_under": {"seconds": 1},
        "schema_valid": {"schema": {}},
        "tool_called": {"tool": "x"},
    }
    for name in GRADERS:
        assert isinstance(grade(name, Sample(), **needed.get(name, {})), Grade)
