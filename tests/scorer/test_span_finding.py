"""Unsupported spans without a partition: located or dropped, merged, thresholded, explained; unknown is not clean."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scorer.scripted import ALL, ScriptedJudge

from groundwire.scorer import (
    Block,
    ConfigError,
    Failure,
    Limits,
    OfflineJudge,
    Spans,
    UnsupportedSpan,
    find_spans,
    fit,
    require_spans,
)
from groundwire.scorer.metrics.span_finding import located, merged

POLICY = '{"returns": "accepted within 30 days of delivery"}'
ANSWER = "Returns are accepted within 90 days. Shipping back is free."


def unsupported(text: str, start: int = -1, probability: float = 0.9, **more: Any) -> UnsupportedSpan:
    more.setdefault("type", "unsupported_addition")
    return UnsupportedSpan(text=text, start=start, end=start + len(text), probability=probability, **more)


async def ask(*spans: UnsupportedSpan, answer: str = ANSWER, evidence: str = POLICY, **more: Any) -> Spans:
    judge = more.pop("judge", None) or ScriptedJudge(found=spans)
    blocks = [Block(name="E1", kind="tool", text=evidence, tool_name="policy")] if evidence else []
    return await find_spans(
        judge, request="How long can I return it?", answer=answer, evidence=fit(blocks, Limits()), **more
    )


async def test_a_span_is_placed_in_the_answer_and_matches() -> None:
    found = await ask(unsupported("Shipping back is free"))
    assert (found.outcome, found.reason) == ("matched", None)
    (one,) = found.spans
    assert ANSWER[one.start : one.end] == one.text == "Shipping back is free"
    assert found.usage.calls == 1


async def test_nothing_unsupported_does_not_match() -> None:
    found = await ask()
    assert (found.outcome, found.spans, found.dropped) == ("not_matched", (), 0)


async def test_a_span_that_is_not_in_the_answer_is_dropped_and_counted() -> None:
    found = await ask(unsupported("Shipping back is free"), unsupported("We ship by drone"))
    assert [one.text for one in found.spans] == ["Shipping back is free"]
    assert (found.dropped, found.reply.notes["spans_dropped"]) == (1, 1)
    assert "spans_dropped" in found.reply.flags
    alone = await ask(unsupported("We ship by drone"))
    assert (alone.outcome, alone.reason, alone.dropped) == ("unknown", "judge_unparsable", 1)


async def test_a_wrong_place_is_mended() -> None:
    found = await ask(unsupported("90 days", start=0))
    assert [(one.start, one.end) for one in found.spans] == [(28, 35)]


async def test_spans_that_overlap_become_one() -> None:
    found = await ask(
        unsupported("accepted within 90 days", probability=0.6, reason="no such time"),
        unsupported("90 days. Shipping", probability=0.8, type="contradiction", reason="30 days"),
        unsupported("free", probability=0.7),
    )
    first, second = found.spans
    assert (first.text, first.probability, first.type) == ("accepted within 90 days. Shipping", 0.8, "contradiction")
    assert first.reason == "no such time; 30 days"
    assert second.text == "free"


async def test_the_predicate_is_the_least_probability() -> None:
    spans = [unsupported("90 days", probability=0.6), unsupported("free", probability=0.9)]
    assert [one.text for one in (await ask(*spans, predicate=0.6)).spans] == ["90 days", "free"]
    assert [one.text for one in (await ask(*spans, predicate=0.61)).spans] == ["free"]
    none = await ask(*spans, predicate=0.95)
    assert (none.outcome, none.spans) == ("not_matched", ())


async def test_what_is_wrong_and_what_the_evidence_has_is_told() -> None:
    found = await ask(unsupported("90 days"))
    (one,) = found.spans
    assert one.subtype == "unit"
    assert one.evidence is not None
    assert (one.evidence.block, one.evidence.quote, one.evidence.verified) == ("E1", "30 days", True)


@pytest.mark.parametrize(("answer", "evidence", "reason"), [("", POLICY, "no_answer"), (ANSWER, "", "no_evidence")])
async def test_what_can_not_be_checked_is_unknown_and_asks_nobody(answer: str, evidence: str, reason: str) -> None:
    judge = ScriptedJudge()
    found = await ask(judge=judge, answer=answer, evidence=evidence)
    assert (found.outcome, found.reason, judge.asked) == ("unknown", reason, [])


async def test_a_judge_that_fails_is_unknown() -> None:
    failure = Failure(status="unknown", reason="judge_unparsable")
    found = await ask(judge=ScriptedJudge(fail={"spans": failure}))
    assert (found.outcome, found.failure, found.usage.calls) == ("unknown", failure, 1)


async def test_a_judge_without_spans_is_refused() -> None:
    judge = ScriptedJudge(capabilities=ALL - {"spans"})
    with pytest.raises(ConfigError, match="grounded-qa: span_required"):
        require_spans(judge, "grounded-qa")
    with pytest.raises(ConfigError, match="span_required"):
        await ask(judge=judge)


async def test_the_offline_judge_marks_the_figure_that_is_wrong() -> None:
    found = await ask(judge=OfflineJudge(), answer="Returns are accepted within 90 days of delivery.")
    assert found.outcome == "matched"
    (one,) = found.spans
    assert "90 days" in one.text
    assert (one.type, one.evidence is not None) == ("contradiction", True)


@pytest.mark.parametrize(
    ("answer", "said", "expected"),
    [
        ("Er sagte „neunzig Tage“ zu.", '"neunzig Tage"', "„neunzig Tage“"),  # other quotation marks
        ("مهلة الإرجاع ٩٠ يومًا فقط.", "٩٠ يومًا", "٩٠ يومًا"),  # right to left
        ("Cafe\u0301 au lait", "Cafe\u0301", "Cafe\u0301"),  # a combining accent
        ("The **90 days** rule", "90 days", "90 days"),
        ("| item | days |\n|---|---|\n| tv | 90 |", "| tv | 90 |", "| tv | 90 |"),
        ("```python\nlimit = 90\n```", "limit = 90", "limit = 90"),
        ("退货期为90天。", "90天", "90天"),
        ("It costs 90\u00a0€ 👩‍👩‍👧 now", "90 € 👩‍👩‍👧", "90\u00a0€ 👩‍👩‍👧"),
    ],
)
def test_spans_are_found_in_any_script_and_through_markup(answer: str, said: str, expected: str) -> None:
    (one,) = located([unsupported(said)], answer)
    assert answer[one.start : one.end] == one.text == expected
    assert unicodedata.normalize("NFC", one.text) == unicodedata.normalize("NFC", expected)


PLACES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 15), st.floats(0, 1)), max_size=8)


@given(PLACES)
def test_merged_spans_are_disjoint_and_cover_the_same(places: list[tuple[int, int, float]]) -> None:
    answer = "".join(chr(ord("a") + i % 26) for i in range(60))
    spans = [unsupported(answer[at : at + size], at, probability) for at, size, probability in places]
    union = merged(spans, answer)
    covered = {i for span in spans for i in range(span.start, span.end)}
    assert {i for span in union for i in range(span.start, span.end)} == covered
    assert sum(span.end - span.start for span in union) == len(covered)
    assert all(answer[span.start : span.end] == span.text for span in union)
    assert max((s.probability for s in union), default=0) == max((s.probability for s in spans), default=0)
