"""Water-filling, marked truncation, coverage and the content hash."""

from hypothesis import given
from hypothesis import strategies as st

from groundwire.scorer.evidence import Block, Limits, content_hash, cut, fit, share


def block(name: str, text: str, **fields: object) -> Block:
    return Block(name=name, kind=fields.pop("kind", "tool"), text=text, **fields)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 5000), max_size=30), st.integers(0, 20_000))
def test_water_filling_gives_all_there_is_and_keeps_the_short_whole(sizes: list[int], total: int) -> None:
    shares = share(sizes, total)
    assert sum(shares) == min(sum(sizes), total)
    assert all(0 <= given_ <= size for given_, size in zip(shares, sizes, strict=True))
    level = max((given_ for given_, size in zip(shares, sizes, strict=True) if given_ < size), default=None)
    if level is not None:  # nobody whole has more than somebody cut, but for the one character that doesn't divide
        lowest = min(given_ for given_, size in zip(shares, sizes, strict=True) if given_ < size)
        assert all(given_ <= lowest + len(sizes) for given_, size in zip(shares, sizes, strict=True) if given_ < size)
        assert all(size == given_ for given_, size in zip(shares, sizes, strict=True) if size < lowest)


def test_water_filling_by_hand() -> None:
    assert share([10, 100, 1000], 150) == [10, 70, 70]
    assert share([10, 100, 1000], 160) == [10, 75, 75]
    assert share([5, 5], 3) in ([1, 2], [2, 1])
    assert share([], 10) == []
    assert share([7], 0) == [0]


@given(st.text(max_size=400), st.integers(0, 500))
def test_a_cut_text_fits_and_counts_what_went(text: str, limit: int) -> None:
    shown, gone = cut(text, limit)
    assert len(shown) <= limit or shown == text
    if len(text) <= limit:
        assert (shown, gone) == (text, 0)
    else:
        assert 0 < gone <= len(text)
        kept = len(text) - gone
        assert shown.startswith(text[:kept])
        if limit > 40:
            assert shown[kept:].strip() == f"[…{gone} characters cut]"


def test_a_mark_says_how_many_characters_went() -> None:
    shown, gone = cut("abcdefghij" * 10, 50)
    assert shown == "abcdefghijabcdefghijabcdefghi […71 characters cut]"
    assert gone == 71
    assert len(shown) == 50
    assert cut("x" * 1000, 100) == ("x" * 78 + " […922 characters cut]", 922)
    assert cut("abcdef", 3) == ("abc", 3)


def test_blocks_share_the_total_and_short_ones_stay_whole() -> None:
    blocks = [block("E1", "short"), block("E2", "y" * 5000), block("E3", "z" * 5000, arguments="a" * 900)]
    view = fit(blocks, Limits(response=2000, arguments=500, total=3000))
    first, second, third = view.shown
    assert first.text == "short"
    assert len(second.text) <= 2000
    assert len(third.text) <= 2000
    assert len(third.arguments) <= 500
    assert sum(len(shown.text) + len(shown.arguments) for shown in view.shown) <= 3000
    assert view.coverage.total == 10_005
    assert view.coverage.shown == 5 + 5000 - second.cut + 5000 - third.cut
    assert 0 < view.coverage.share < 1


def test_what_the_user_and_the_prompt_said_has_a_room_of_its_own() -> None:
    blocks = [block("E1", "x" * 8000), block("U1", "u" * 3000, kind="user"), block("S1", "s" * 9000, kind="provided")]
    view = fit(blocks, Limits())
    shown = {item.block.name: len(item.text) for item in view.shown}
    assert shown == {"E1": 2000, "U1": 2000, "S1": 2000}
    assert [item.block.name for item in view.shown] == ["E1", "U1", "S1"]


def test_nothing_to_show_is_full_coverage() -> None:
    assert fit([], Limits()).coverage.share == 1.0


def test_the_content_hash_is_of_texts_and_statuses_only() -> None:
    blocks = [block("E1", "a", tool_name="t", span_id="1", arguments="x")]
    same = content_hash("q", "a", blocks)
    assert content_hash("q", "a", [block("E7", "a", tool_name="other", span_id="2")]) == same
    different = [
        content_hash("q2", "a", blocks),
        content_hash("q", "a2", blocks),
        content_hash("q", "a", [block("E1", "b")]),
        content_hash("q", "a", [block("E1", "a", failed=True)]),
        content_hash("q", "a", [*blocks, block("E2", "")]),
        content_hash("qa", "", blocks),
    ]
    assert len({same, *different}) == 7
    assert len(content_hash("\ud800", "a", [])) == 64
