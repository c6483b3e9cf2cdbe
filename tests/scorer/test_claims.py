"""Claims located in an answer: exact, normalised, aligned, or not at all; quotes looked up in evidence."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.scorer.claims import find_quote, locate

ANSWER = "The flight leaves at 9:40. It costs “€120”.\n- Bags are  included.\nThe flight leaves at 9:40."


def test_the_same_words_twice_are_two_places() -> None:
    first, second, third = locate(["The flight leaves at 9:40."] * 3, ANSWER)
    assert (first.start, first.end) == (0, 26)
    assert (second.start, second.end) == (len(ANSWER) - 26, len(ANSWER))
    assert (third.start, third.end, third.text) == (None, None, "The flight leaves at 9:40.")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('It costs "€120".', "It costs “€120”."),
        ("bags are included.", "Bags are  included."),
        ("It costs\n“€120”.", "It costs “€120”."),
    ],
)
def test_other_quotes_case_and_spaces_are_found(said: str, expected: str) -> None:
    [claim] = locate([said], ANSWER)
    assert claim.text == expected
    assert claim.start is not None
    assert ANSWER[claim.start : claim.end] == expected


def test_a_slightly_reworded_claim_is_aligned_to_whole_words() -> None:
    answer = "Your order number 4711 was shipped on Tuesday with DHL and should arrive soon."
    [claim] = locate(["order number 4711 was shipped Tuesday with DHL"], answer)
    assert claim.start is not None
    assert claim.end is not None
    assert "4711 was shipped on Tuesday with DHL" in claim.text
    assert answer[claim.start : claim.end] == claim.text
    assert claim.start == 0 or not answer[claim.start - 1].isalnum()
    assert claim.end == len(answer) or not answer[claim.end].isalnum()


def test_what_is_not_there_has_no_offsets() -> None:
    invented, short, empty = locate(["The hotel has a rooftop pool with a view.", "xyz", ""], ANSWER)
    for claim in (invented, short, empty):
        assert (claim.start, claim.end) == (None, None)
    assert locate(["anything at all"], "")[0].start is None


@given(st.text(min_size=1, max_size=200), st.data())
def test_every_substring_is_located_at_its_own_text(answer: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(answer) - 1))
    end = data.draw(st.integers(start + 1, len(answer)))
    piece = answer[start:end]
    [claim] = locate([piece], answer)
    if piece.strip():
        assert claim.start is not None
        assert claim.end is not None
        assert answer[claim.start : claim.end] == claim.text == piece


@given(st.lists(st.text(max_size=30), max_size=6), st.text(max_size=120))
def test_located_claims_never_overlap_and_are_the_answers_own_words(texts: list[str], answer: str) -> None:
    claims = locate(texts, answer)
    assert len(claims) == len(texts)
    places = sorted((c.start, c.end) for c in claims if c.start is not None and c.end is not None)
    assert all(answer[c.start : c.end] == c.text for c in claims if c.start is not None)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(places))


def test_quotes_are_looked_up_exactly_then_normalised() -> None:
    text = "Refund:\n\n“Non‑refundable”  — see rule\u200b 7. ﬁnal"
    exact = find_quote("see rule", text)
    assert exact is not None
    assert exact.exact
    loose = find_quote('"non-refundable" - see rule 7', text)
    assert loose is not None
    assert not loose.exact
    assert text[loose.start : loose.end] == "“Non‑refundable”  — see rule\u200b 7"
    assert find_quote("final", text) is not None
    assert find_quote("not in it", text) is None
    assert find_quote("   ", text) is None
