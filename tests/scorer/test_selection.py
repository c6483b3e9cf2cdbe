"""The relevant windows of evidence that doesn't fit."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.scorer.evidence import Block, Limits, fit
from groundwire.scorer.selection import select, shrink, words


def tool(name: str, text: str) -> Block:
    return Block(name=name, kind="tool", text=text)


def haystack(fact: str, size: int = 50_000) -> str:
    filler = [{"id": index, "note": f"entry {index} is about something else entirely"} for index in range(1, 900)]
    text = json.dumps(filler)[: size // 2]
    return text + fact + json.dumps(filler)[: size // 2]


def test_a_fact_in_the_middle_of_a_long_result_is_shown() -> None:
    fact = ' {"flight": "KL 1234", "gate": "B17", "boarding": "18:40"} '
    block = tool("E1", haystack(fact))
    assert fact not in fit([block], Limits()).shown[0].text
    view = select([block], ["Your flight KL 1234 boards at gate B17."], Limits())
    assert fact in view.shown[0].text
    assert len(view.shown[0].text) <= 2_000
    assert 0.0 < view.coverage.share < 0.05


@pytest.mark.parametrize(
    ("fact", "query"),
    [
        ("客户的保修期为三年，从购买之日起计算。", "保修期是三年"),
        ("Die Garantiezeit beträgt 36 Monate ab Kaufdatum.", "Die Garantie läuft 36 Monate"),
        ("保証期間は購入日から3年です。", "保証期間は3年です"),
        ("ระยะเวลารับประกันสามปี", "รับประกันสามปี"),
    ],
)
def test_relevance_reads_other_scripts(fact: str, query: str) -> None:
    assert fact in select([tool("E1", haystack(fact))], [query], Limits()).shown[0].text


def test_every_query_has_its_best_window_before_any_has_a_second() -> None:
    facts = [
        f" item{letter} costs {price} euros; " for letter, price in zip("ABCDE", (11, 23, 37, 41, 59), strict=True)
    ]
    text = "".join(fact + "x y z " * 800 for fact in facts)
    view = select([tool("E1", text)], facts, Limits(response=3_000))
    assert all(fact.strip() in view.shown[0].text for fact in facts)


def test_what_fits_is_shown_whole_and_short_blocks_stay_whole() -> None:
    small, big = tool("E1", "status: delivered"), tool("E2", haystack(" the parcel weighs 12 kg "))
    assert select([small], ["delivered"], Limits()) == fit([small], Limits())
    view = select([big, small], ["the parcel weighs 12 kg"], Limits(total=900))
    assert view.shown[1].text == "status: delivered"
    assert "weighs 12 kg" in view.shown[0].text


def test_without_a_word_to_look_for_heads_are_shown() -> None:
    block = tool("E1", haystack(""))
    assert select([block], ["…", ""], Limits()) == fit([block], Limits())


def test_a_query_that_meets_nothing_shows_heads() -> None:
    view = select([tool("E1", "alpha beta " * 1_000)], ["zzz"], Limits())
    assert view.shown[0].text.startswith("alpha beta alpha")
    assert view.shown[0].text.endswith("characters cut]")


def test_the_marks_count_what_is_missing() -> None:
    block = tool("E1", haystack(" needle in here "))
    shown = select([block], ["needle"], Limits(response=1_000)).shown[0]
    marks = [int(piece.split(" ")[0]) for piece in shown.text.split("[…")[1:]]
    assert sum(marks) == shown.cut
    assert (
        len(block.text) - shown.cut == len(shown.text) - sum(len(f" […{count} characters cut]") for count in marks) - 1
    )


texts = st.text(alphabet="ab 1,é中\n", max_size=3_000)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(texts, st.text(alphabet="xy", max_size=700), st.sampled_from(["tool", "user"])), max_size=6),
    st.lists(st.text(alphabet="ab 1中", max_size=30), max_size=4),
    st.integers(1, 3_000),
    st.integers(1, 600),
    st.integers(1, 6_000),
)
def test_the_bounds_hold(pieces, queries, response, arguments, total) -> None:
    blocks = [
        Block(name=f"B{index}", kind=kind, text=text, arguments=called if kind == "tool" else "")
        for index, (text, called, kind) in enumerate(pieces)
    ]
    limits = Limits(response=response, arguments=arguments, total=total, given=1_000)
    view = select(blocks, queries, limits)
    assert [shown.block for shown in view.shown] == blocks
    tools = [shown for shown in view.shown if shown.block.kind == "tool"]
    assert all(len(shown.text) <= response and len(shown.arguments) <= arguments for shown in tools)
    assert sum(len(shown.text) + len(shown.arguments) for shown in tools) <= total
    assert sum(len(shown.text) for shown in view.shown if shown.block.kind != "tool") <= 1_000
    for shown in view.shown:
        assert 0 <= shown.cut <= len(shown.block.text)
        assert (shown.cut == 0) == (shown.text == shown.block.text)


def test_a_shrunk_view_says_what_it_lost() -> None:
    view = fit([tool("E1", "a" * 1_000), tool("E2", "short")], Limits())
    less = shrink(view, 0.5)
    assert less.shown[1].text == "short"
    assert len(less.shown[0].text) <= 498
    assert less.coverage.shown < view.coverage.shown
    assert shrink(view, 0.0).coverage.shown == 0


def test_words_are_compared_without_case_width_or_separators() -> None:
    assert words("Ｇate_Ｂ17 costs 1,234.50") == ["gate", "b17", "costs", "1234.50"]
    assert words("departureTime") == ["departure", "depar*", "time"]
    assert words("保証期間") == ["保証", "証期", "期間"]
