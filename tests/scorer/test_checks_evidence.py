"""The evidence index: what of a view's blocks counts, with block, path and writing."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.checks.data import read_leaves
from groundwire.scorer.evidence import Block, Limits, Shown, View, fit


def view(*texts: str, failed: bool = False) -> View:
    blocks = [Block(name=f"E{number}", kind="tool", text=text, failed=failed) for number, text in enumerate(texts, 1)]
    return View(shown=tuple(Shown(block=block, text=block.text) for block in blocks))


def paths(text: str) -> dict[str, str | None]:
    return {item.value: item.path for item in EvidenceIndex.of(view(text)).items}


def test_values_of_json_have_their_path() -> None:
    data = {
        "temp_c": 21,
        "flights": [{"price": 150}, {"price": 199.5, "when": "2024-05-03T10:00:00Z"}],
        "by id": {"W77": {"n": -4}},
        "note": 'ships in "3 days"\nfor €12',
        "ok": True,
        "none": None,
    }
    assert paths(json.dumps(data)) == {
        "21": "$.temp_c",
        "150": "$.flights[0].price",
        "199.5": "$.flights[1].price",
        "2024-05-03T10:00Z": "$.flights[1].when",
        "w77": "$['by id'].W77",
        "-4": "$['by id'].W77.n",
        "3": "$.note",
        "12": "$.note",
    }


def test_items_stand_where_they_say_also_behind_escapes() -> None:
    text = '{"a": "caf\\u00e9\\n12 km, \\ud83d\\ude00 $5", "b": [1,200, 3], "c": "\\"7\\""}'
    index = EvidenceIndex.of(view(text))
    assert [(item.value, text[item.start : item.end]) for item in index.items] == [
        ("12", "12 km"),
        ("5", "$5"),
        ("1", "1"),
        ("200", "200"),
        ("3", "3"),
        ("7", "7"),
    ]


def test_json_that_was_cut_is_read_value_by_value() -> None:
    text = '{"orders": [{"id": "#W1", "price": 12.5}, {"id": "#W2", "pri'
    assert paths(text) == {"w1": "$.orders[0].id", "12.5": "$.orders[0].price", "w2": "$.orders[1].id"}
    block = Block(name="E1", kind="tool", text=json.dumps({"rows": [{"n": number} for number in range(1000, 2000)]}))
    shown = fit([block], Limits(response=200)).shown[0]
    values = [item.value for item in EvidenceIndex.of(View(shown=(shown,))).items]
    assert values[:3] == ["1000", "1001", "1002"]
    assert str(shown.cut) not in values  # the mark that says what was cut is no evidence


def test_a_cut_inside_a_leaf_is_no_evidence_either() -> None:
    index = EvidenceIndex.of(view('{"text": "pays 12 euros […4711 characters cut]", "n": 3}'))
    assert [item.value for item in index.items] == ["12", "3"]


def test_python_repr_json_in_strings_and_prose_around() -> None:
    assert paths("{'price': 150, 'ok': True, 'name': 'it\\'s 3 km'}") == {"150": "$.price", "3": "$.name"}
    inner = json.dumps({"price": 150, "note": 'a "7" b'})
    assert paths(json.dumps({"content": [{"type": "text", "text": inner}]})) == {
        "150": "$.content[0].text",
        "7": "$.content[0].text",
    }
    assert paths('{"price": 150}\nThat is 3 km.') == {"150": "$.price", "3": None}
    assert paths("Result: 150 and 3 km") == {"150": None, "3": None}


def test_keys_and_neighbours_name_units() -> None:
    data = {"temp_c": 21, "wind": {"kmh": 14}, "duration_minutes": 90, "price_usd": 5, "tax_pct": 19}
    text = json.dumps({**data, "w": {"value": 2, "unit": "kg"}})
    index = EvidenceIndex.of(view(text))
    assert [(item.kind, item.value, item.unit) for item in index.items] == [
        ("unit", "21", "°C"),
        ("unit", "14", "km/h"),
        ("unit", "90", "min"),
        ("number", "5", "USD"),
        ("number", "19", "%"),
        ("unit", "2", "kg"),
    ]


def test_the_numbers_json_does_not_know() -> None:
    index = EvidenceIndex.of(
        view('{"a": NaN, "b": -Infinity, "c": 1e400, "d": 1e999999999, "e": 5, "f": ' + "9" * 500 + "}")
    )
    values = [item.value for item in index.items]
    assert "5" in values
    assert "1e999999999" in values
    assert run_checks("It is 5, not 6 or about 70 million.", index)[0].outcome == "found"


def test_a_failed_block_supports_nothing_but_its_failure() -> None:
    blocks = (
        Shown(
            block=Block(name="E1", kind="tool", text='{"error": "503", "price": 150}', failed=True),
            text='{"error": "503", "price": 150}',
        ),
        Shown(block=Block(name="E2", kind="tool", text='{"qty": 2}'), text='{"qty": 2}'),
    )
    index = EvidenceIndex.of(View(shown=blocks))
    assert [item.value for item in index.items] == ["2"]
    assert run_checks("It costs 150.", index)[0].outcome == "not_found"
    assert index.failures is not None
    (check,) = run_checks("It failed with 503.", index.failures)
    assert (check.outcome, check.block, check.path) == ("found", "E1", "$.error")
    assert EvidenceIndex.of(view("{}")).failures is None


def test_arguments_are_no_evidence_of_results() -> None:
    block = Block(name="E1", kind="tool", text='{"ok": true}', arguments='{"amount": 150}')
    index = EvidenceIndex.of(View(shown=(Shown(block=block, text=block.text, arguments=block.arguments),)))
    assert run_checks("I refunded 150 dollars.", index)[0].outcome == "not_found"


@pytest.mark.parametrize("kind", ["user", "provided"])
def test_what_was_given_counts(kind: str) -> None:
    block = Block(name="U1", kind=kind, text="My order is W1234567.")  # type: ignore[arg-type]
    (check,) = run_checks("Order W1234567 it is.", EvidenceIndex.of(fit([block], Limits())))
    assert (check.outcome, check.block, check.quote) == ("found", "U1", "W1234567")


def test_no_evidence_at_all() -> None:
    index = EvidenceIndex.of(View())
    assert index.items == ()
    assert [check.outcome for check in run_checks("It is 5 km to John Smith.", index)] == ["not_found", "not_found"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


def _follow(data: object, path: str) -> object:
    """The value at a path, by the grammar that the paths are written in."""
    at = 1
    while at < len(path):
        if path[at] == ".":
            end = at + 1
            while end < len(path) and (path[end].isalnum() or path[end] == "_"):
                end += 1
            data, at = data[path[at + 1 : end]], end  # type: ignore[index]
        elif path[at + 1] == "'":
            key, at = "", at + 2
            while path[at] != "'":
                at += path[at] == "\\"
                key, at = key + path[at], at + 1
            data, at = data[key], at + 2  # type: ignore[index]
        else:
            end = path.index("]", at)
            data, at = data[int(path[at + 1 : end])], end + 1  # type: ignore[index]
    return data


@settings(max_examples=200)
@given(
    st.one_of(
        st.lists(JSON, min_size=1, max_size=4), st.dictionaries(st.text(max_size=6), JSON, min_size=1, max_size=4)
    ),
    st.booleans(),
)
def test_leaves_are_the_values_at_their_paths(data: object, ascii_only: bool) -> None:
    text = json.dumps(data, ensure_ascii=ascii_only)
    leaves, _ = read_leaves(text)
    for leaf in leaves:
        if leaf.kind == "text":
            assert leaf.path is not None
            assert _follow(data, leaf.path) == leaf.text
        elif leaf.kind == "number":
            assert leaf.path is not None
            value = _follow(data, leaf.path)
            assert json.loads(leaf.text) == value
            assert text[leaf.start : leaf.end] == leaf.text
    scalars = json.loads(text, parse_constant=lambda _: None)
    assert sum(leaf.kind in ("text", "number", "word") for leaf in leaves) == _scalars(scalars)


def _scalars(data: object) -> int:
    if isinstance(data, dict):
        return sum(map(_scalars, data.values()))
    return sum(map(_scalars, data)) if isinstance(data, list) else 1


@settings(max_examples=200)
@given(
    st.one_of(st.text(st.characters(codec=None), max_size=120), JSON.map(json.dumps)),
    st.integers(0, 120),
    st.text(st.characters(codec=None), max_size=60),
)
def test_any_evidence_and_any_claim(text: str, length: int, claim: str) -> None:
    index = EvidenceIndex.of(view(text[:length], text))
    for item in index.items:
        assert item.block in ("E1", "E2")
        assert 0 <= item.start < item.end <= len(text)
    for check in run_checks(claim + " 5 km May 3 #W1 John Smith", index):
        assert (check.outcome == "not_found") == (check.block is None) or check.outcome == "derived"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 30_000,
        '["' + "\\" * 100_000,
        "[" + "1," * 50_000,
        '{"' + "k" * 90_000 + '": [1, 2, 3]}',
        "1 2 " * 30_000,
    ],
)
def test_hostile_evidence_is_read_in_bounded_time(text: str) -> None:
    started = time.process_time()
    index = EvidenceIndex.of(view(text))
    run_checks("It is 5 km, $77.13 and May 3 for John Smith.", index)
    assert time.process_time() - started < 10


def test_a_keys_own_unit_comes_before_the_currency_that_stands_beside_it() -> None:
    bill = '{"kwh": 312, "price_per_kwh": 0.284, "total": 100.01, "currency": "EUR"}'
    view = fit([Block(name="E1", kind="tool", text=bill)], Limits())
    index = EvidenceIndex.of(view)
    [used] = run_checks("You used 312 kWh.", index)
    assert (used.outcome, used.path) == ("found", "$.kwh")
    [total] = run_checks("It comes to €100.01.", index)
    assert (total.outcome, total.path) == ("found", "$.total")
    [price] = run_checks("A kilowatt hour costs €0.284.", index)
    assert (price.outcome, price.path) == ("found", "$.price_per_kwh")
