"""Where a cited quote stands in a block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.scorer import place_quote

ORDER = '{"order": "KC-204", "items": [{"quantity": 4, "price": 14.5}, {"quantity": 2, "price": 4}], "note": "4 left"}'


def placed(quote, text, path=None):
    found = place_quote(quote, text, path=path)
    return None if found is None else (found.start, found.end)


@pytest.mark.parametrize(
    ("quote", "path", "place"),
    [
        ("4", "$.items[0].quantity", (43, 44)),
        ("4", "$.items[1].price", (87, 88)),
        ("KC-204", "$.order", (11, 17)),
        ("left", "$.note", (103, 107)),
        ('"quantity": 2', "$.items[1].quantity", (63, 76)),  # the key is quoted too
        ("four", "$.items[0].quantity", (43, 44)),  # the value stands there, written otherwise
    ],
)
def test_a_path_says_which_of_several_is_meant(quote, path, place):
    assert placed(quote, ORDER, path) == place


@pytest.mark.parametrize("path", [None, "$", "$.nowhere"])
def test_without_a_path_a_bare_value_in_several_places_has_none(path):
    assert placed("4", ORDER, path) is None


def test_a_value_that_stands_once_is_found_as_a_whole_word():
    assert placed("14.5", ORDER) == (55, 59)
    assert placed("2", ORDER) == (75, 76)  # not the one in KC-204


def test_repeated_words_are_taken_where_they_first_stand():
    assert placed("the pump", "Prime the pump. Stop the pump.") == (6, 14)


def test_other_quotation_marks_and_case_still_find_it():
    assert placed("“Prime”  the pump", '"prime" the pump') == (0, 16)


def test_what_is_not_there_has_no_place():
    assert placed("nine", ORDER) is None
    assert placed("  ", ORDER) is None


def test_a_cut_block_is_read_as_far_as_it_goes():
    assert placed("14.5", ORDER[:60] + " […20 characters cut]", "$.items[0].price") == (55, 59)


@given(st.text(max_size=8), st.text(max_size=40), st.none() | st.sampled_from(["$", "$.a", "$[0]"]))
def test_a_place_lies_inside_the_text(quote, text, path):
    found = place_quote(quote, text, path=path)
    assert found is None or 0 <= found.start < found.end <= len(text)
