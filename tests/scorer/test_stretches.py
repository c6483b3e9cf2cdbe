"""Which words of a statement the offline judge marks: the figure, the name, the clause, the negation."""

import random

import pytest
from tests.benchmarks.bench_spans import KINDS, Case, Kind, Overlap, edited

from groundwire.scorer import Block, Limits, OfflineJudge, View, fit

PROSE = (
    "The Harbour Bridge in Porto Velho was opened on 4 March 1962 by the engineer Marta Oliveira. It is 840 metres "
    "long and carries two railway tracks. The bridge was painted green and is maintained by the state railway. "
    "Every year about four million passengers cross it, most of them on their way to the coast."
)


def view(text: str = PROSE) -> View:
    return fit([Block(name="E1", kind="tool", text=text, tool_name="search")], Limits())


@pytest.mark.parametrize(
    ("answer", "marked"),
    [
        ("It is 950 metres long and carries two railway tracks.", ["950 metres"]),
        ("The bridge was opened on 4 March 1971 by the engineer Marta Oliveira.", ["4 March 1971"]),
        ("The bridge was painted green, which cost 41 million dollars.", ["41 million dollars"]),
        ("The bridge was opened by the engineer Lucinda Barroso.", ["Lucinda Barroso"]),
        ("The bridge was not painted green.", ["was not"]),
        ("It is 840 metres long and carries two railway tracks.", []),
    ],
)
async def test_the_wrong_words_are_marked_and_not_the_whole_statement(answer: str, marked: list[str]) -> None:
    reply = await OfflineJudge().spans("", answer, view())
    assert [span.text for span in reply.value or ()] == marked
    for span in reply.value or ():
        assert answer[span.start : span.end] == span.text
        assert 0 < span.probability <= 1
        assert span.reason.startswith("lexical check")


async def test_a_deed_that_nobody_did_is_marked_whole() -> None:
    refund = fit([Block(name="E1", kind="tool", text="no connection", tool_name="refund", failed=True)], Limits())
    (span,) = (await OfflineJudge().spans("", "I have refunded your order.", refund)).value or ()
    assert span.text == "I have refunded your order."


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_the_benchmark_is_where_it_says(kind: Kind) -> None:
    claim = "On 4 March 1962, the mayor Ana Maria Prado opened it, and it was 840 metres long."
    found = edited(claim, kind, ["Later the poet Jorge Amado came."], random.Random(1))
    assert found is not None
    text, start, end = found
    assert text != claim
    assert text[:start] + text[end:] == claim[:start] + claim[len(claim) - len(text) + end :]
    assert edited("nothing here", "month", [], random.Random(1)) is None


def test_overlap_counts_characters() -> None:
    overlap = Overlap()
    overlap.add(Case(answer="0123456789", evidence=View(), kind="figure", start=2, end=6), [(4, 8)], unknown=False)
    found = overlap.figures()
    assert (found["precision"], found["recall"], found["f1"], found["edits touched"]) == (0.5, 0.5, 0.5, 1.0)
    assert found["characters marked"] == 0.4
