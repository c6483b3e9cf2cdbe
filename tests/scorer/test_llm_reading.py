"""Strict reading of a judge's replies."""

import pytest

from groundwire.scorer.judges.forms import (
    CLAIMS,
    FACTS,
    FAITHFULNESS,
    LABELS,
    PROBE,
    QUOTES,
    SPANS,
    VERDICT,
    ClaimsForm,
    FactsForm,
    FaithfulnessForm,
    LabelItem,
    LabelsForm,
    SpansForm,
    VerdictForm,
)
from groundwire.scorer.judges.reading import Unreadable, is_refusal, read_items, read_reply

GOOD = '{"unsupported": [], "explanation": "all there", "label": "grounded"}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Here is my verdict:\n{GOOD}\nI hope this helps {{so much}}.",
        f'<think>maybe {{"label": "hallucinated"}}?</think>{GOOD}',
        f"{GOOD}\n{GOOD}",
        '{"unsupported": [], "explanation": "all\nthere", "label": "grounded"}'.replace("all\nthere", "all there"),
        '{"explanation": ["all there"], "label": " Grounded "}',
        f'{{"note": "no verdict"}} {GOOD}',
        '{"label": "hallucinated", "explanation": "all there", "label": "grounded"}',
    ],
)
def test_the_unmistakable_is_read(text: str) -> None:
    assert read_reply(text, VerdictForm) == VerdictForm(unsupported=[], explanation="all there", label="grounded")


def test_a_raw_newline_in_a_string_is_read() -> None:
    assert (
        read_reply('{"explanation": "one\ntwo\tthree", "label": "grounded"}', VerdictForm).explanation
        == "one\ntwo\tthree"
    )


def test_several_reasons_are_one() -> None:
    assert read_reply('{"explanation": ["one", "two"], "label": "grounded"}', VerdictForm).explanation == "one; two"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no complete JSON object"),
        ("grounded", "no complete JSON object"),
        ('{"explanation": "cut of', "no complete JSON object"),
        ('{"explanation": "x" "label": "grounded"}', "no complete JSON object"),
        ('{"label": "fine"}', "label: "),
        ('{"explanation": "x"}', "label: Field required"),
        (GOOD + '{"label": "hallucinated"}', "several different objects"),
        ("[" * 100_000, "no complete JSON object"),
        ('{"a":' * 50_000, "no complete JSON object"),
        ("x" * 500_000, "too long"),
    ],
)
def test_the_rest_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(Unreadable, match=complaint):
        read_reply(text, VerdictForm)


def scores(numeric: str) -> str:
    return f'{{"numeric": {numeric}, "categorical": 1, "no_fabrication": 1.0, "completeness": 0}}'


@pytest.mark.parametrize(
    ("written", "value"), [("0.8", 0.8), ('"0.8"', 0.8), ('" 0.80 "', 0.8), ("1", 1.0), ('"0"', 0.0)]
)
def test_a_quoted_number_is_a_number(written: str, value: float) -> None:
    assert read_reply(scores(written), FaithfulnessForm).numeric == value


@pytest.mark.parametrize(
    "written", ["1.2", "-0.1", '"80%"', '"high"', "true", "null", "NaN", "Infinity", '"nan"', "[1]"]
)
def test_what_is_no_score_is_refused(written: str) -> None:
    with pytest.raises(Unreadable):
        read_reply(scores(written), FaithfulnessForm)


def test_a_score_out_of_range_is_never_echoed() -> None:
    with pytest.raises(Unreadable, match="numeric") as caught:
        read_reply(scores('"a secret of the trace"'), FaithfulnessForm)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("written", ['"false"', '"true"', "0", "1", "null"])
def test_a_truth_value_is_true_or_false(written: str) -> None:
    with pytest.raises(Unreadable):
        read_reply(f'{{"needs_facts": {written}}}', FactsForm)


def test_a_bare_list_is_the_forms_one_list() -> None:
    assert [item.text for item in read_reply('[{"text": "a", "kind": "fact"}]', ClaimsForm).claims] == ["a"]
    assert read_reply("[]", SpansForm).spans == []


def test_good_entries_survive_bad_ones_and_ids_are_tolerant() -> None:
    form = read_reply(
        '{"labels": [{"id": "c1", "label": "Model Knowledge"}, {"id": 2, "label": "probably"},'
        ' {"id": "[C3]", "label": "supported", "block": "e2 tool: x", "quote": "q", "reason": ["a", "b"]}, {}]}',
        LabelsForm,
    )
    items, unread = read_items(form.labels, LabelItem)
    assert unread == 2
    assert [(item.id, item.label, item.block, item.reason) for item in items] == [
        ("C1", "model_knowledge", None, ""),
        ("C3", "supported", "E2", "a; b"),
    ]


def test_entries_of_which_none_is_readable_are_refused() -> None:
    with pytest.raises(Unreadable, match="label"):
        read_items([{"id": "C1", "label": "yes"}, {"id": "C2", "label": "no"}], LabelItem)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("I cannot evaluate this content.", True),
        ("对不起，我无法回答。", True),
        ("The answer is grounded.", False),
        ('I\'m sorry: {"label": "grounded"}', False),
        ("", False),
    ],
)
def test_refusals_in_words(text: str, refused: bool) -> None:
    assert is_refusal(text) is refused


@pytest.mark.parametrize("form", [CLAIMS, FACTS, FAITHFULNESS, LABELS, PROBE, QUOTES, SPANS, VERDICT])
def test_schemas_are_strict_and_name_what_is_read(form) -> None:
    def objects(schema):
        if schema.get("type") == "object":
            yield schema
            for property_schema in schema["properties"].values():
                yield from objects(property_schema)
        if schema.get("type") == "array":
            yield from objects(schema["items"])

    for schema in objects(form.schema):
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) == set(schema["properties"])
    assert set(form.schema["properties"]) == set(form.model.model_fields)
