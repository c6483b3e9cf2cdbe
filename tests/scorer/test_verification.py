"""The citation verifier: sources, quotes, numbers, the judge, the ways out, the forms of the APIs."""

from collections.abc import Sequence
from typing import Any

import pytest

from groundwire.scorer import (
    CitedClaim,
    CitedPassage,
    Claim,
    ConfigError,
    DraftClaim,
    Failure,
    OfflineJudge,
    Reply,
    Usage,
    VerifiedClaim,
    View,
    read_draft,
    resolve,
    verify,
)

SOURCES = {
    "refund-policy": "Refunds are issued within 14 days of purchase for unused licenses.",
    "data-region": "Customer data is stored in the “EU region” by\n default.",
}


def item(claim: str, quote: str, source: str) -> dict[str, str]:
    return {"claim": claim, "quote": quote, "source": source}


GOOD = item("Refunds are available for 14 days.", "within 14 days of purchase", "refund-policy")


def only(claim: str, quote: str, source: str = "refund-policy") -> VerifiedClaim:
    return verify([item(claim, quote, source)], SOURCES).claims[0]


class Labelling(OfflineJudge):
    """Gives every claim one label, or fails."""

    def __init__(self, label: str | None, reason: str = "because") -> None:
        super().__init__()
        self.found = label
        self.reason = reason
        self.views: list[View] = []

    async def label(self, question: str, claims: Sequence[DraftClaim], evidence: View) -> Reply[tuple[Claim, ...]]:
        self.views.append(evidence)
        if self.found == "down":
            failure = Failure(status="error", reason="judge_unreachable")
            return Reply(failure=failure, usage=Usage(calls=1))
        claim = Claim.model_validate({"text": claims[0].text, "label": self.found, "reason": self.reason})
        return Reply(value=(claim,), usage=Usage(calls=1, micro_dollars=7))


def test_what_passes_and_what_is_dropped() -> None:
    draft = [
        GOOD,
        item("Data is kept in the EU.", 'stored in the "EU region" by default', "data-region"),
        item("Used licenses are covered too.", "including used licenses", "refund-policy"),
        item("Data is encrypted.", "encrypted at rest", "whitepaper"),
        item("Refunds take 30 days.", "within 14 days", "refund-policy"),
        item("No quote.", " ", "refund-policy"),
    ]
    found = verify(draft, SOURCES)
    assert [(claim.outcome, claim.reason) for claim in found.claims] == [
        ("kept", None),
        ("kept", None),
        ("dropped", "quote_not_found"),
        ("dropped", "unknown_source"),
        ("dropped", "numbers_not_in_quote"),
        ("dropped", "no_quote"),
    ]
    exact, normalised = (claim.passages[0] for claim in found.kept)
    assert exact.exact is True
    assert SOURCES["refund-policy"][exact.start : exact.end] == "within 14 days of purchase"
    assert normalised.exact is False
    assert SOURCES["data-region"][normalised.start : normalised.end] == "stored in the “EU region” by\n default"
    assert found.dropped[2].explanation == "30 days not in the quote"


@pytest.mark.parametrize(
    ("claim", "quote", "kept"),
    [
        ("Refunds take two weeks, 14 days.", "within 14 days of purchase", True),
        ("Refunds take 14 days.", "Refunds are issued", False),  # the number is in the source, not in the quote
        ("Refunds are possible.", "Refunds are issued", True),
        ("Refunds since 2024-05-03.", "within 14 days of purchase", False),
    ],
)
def test_numbers_must_stand_in_the_quote(claim: str, quote: str, kept: bool) -> None:
    assert (only(claim, quote).outcome == "kept") is kept


@pytest.mark.parametrize(
    ("quote", "text", "kept"),
    [
        ("used licenses", "for unused licenses", False),
        ("used licenses", "Used Licenses, not unused licenses", True),
        ("4 days", "within 14 days", False),
        ("14 days", "within 1.14 days", False),
        ("costs 14", "it costs 14.50", False),
        ("costs 14", "it costs 14.", True),
        ("license", "licenses", False),
        ("据存储在EU", "数据存储在EU地区", True),
        ("with-in", "(with-in)", True),
    ],
)
def test_a_quote_neither_begins_nor_ends_inside_a_word_or_number(quote: str, text: str, kept: bool) -> None:
    found = verify([item("A claim.", quote, "s")], {"s": text}).claims[0]
    assert (found.outcome == "kept") is kept


@pytest.mark.parametrize(
    ("label", "outcome", "reason"),
    [
        ("supported", "kept", None),
        ("inferred", "escalated", "inferred"),
        ("model_knowledge", "dropped", "not_supported"),
        ("hallucinated", "dropped", "not_supported"),
        (None, "escalated", "undecided"),
        ("down", "escalated", "judge_failed"),
    ],
)
async def test_what_the_judge_says_decides(label: str | None, outcome: str, reason: str | None) -> None:
    judge = Labelling(label)
    draft = [GOOD, item("Used licenses too.", "including used licenses", "refund-policy")]
    found = await resolve(verify(draft, SOURCES), SOURCES, judge=judge)
    assert (found.claims[0].outcome, found.claims[0].reason) == (outcome, reason)
    assert found.claims[1].reason == "quote_not_found"
    assert [shown.text for view in judge.views for shown in view.shown] == ["within 14 days of purchase"]
    assert found.usage.calls == 1
    assert found.judge is not None
    assert found.judge["kind"] == "offline"


async def test_one_retry_through_the_hook_and_no_second() -> None:
    asked: list[str] = []

    async def redraft(failed: VerifiedClaim) -> dict[str, str] | None:
        asked.append(failed.claim)
        if failed.reason == "unknown_source":
            return None
        return GOOD if failed.reason == "quote_not_found" else item("Still wrong.", "nowhere", "refund-policy")

    draft = [
        item("A", "nowhere", "refund-policy"),
        item("B", "nowhere", "gone"),
        item("C 99", "Refunds", "refund-policy"),
    ]
    found = await resolve(verify(draft, SOURCES), SOURCES, retry=redraft)
    assert sorted(asked) == ["A", "B", "C 99"]
    assert [(claim.outcome, claim.retried) for claim in found.claims] == [
        ("kept", True),
        ("dropped", False),
        ("dropped", True),
    ]
    assert found.claims[0].claim == GOOD["claim"]


async def test_a_hook_that_fails_costs_its_claim_the_retry_only() -> None:
    def broken(failed: VerifiedClaim) -> CitedClaim:
        if failed.claim == "A":
            raise KeyError("secret text")
        return CitedClaim(text="Refunds.", passages=(CitedPassage(source="refund-policy", quote="Refunds"),))

    draft = [item("A", "nowhere", "refund-policy"), item("B", "nowhere", "refund-policy")]
    found = await resolve(verify(draft, SOURCES), SOURCES, retry=broken, escalate=True)
    assert [claim.outcome for claim in found.claims] == ["escalated", "kept"]
    assert found.claims[0].explanation == "quote not found in source; the retry hook failed (KeyError)"


def test_anthropic_citations() -> None:
    text = SOURCES["refund-policy"]
    start = text.index("within")
    place = {"type": "char_location", "document_index": 0, "document_title": None, "cited_text": text[start:]}
    message = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "According to the policy, "},
            {"type": "text", "text": "refunds take 14 days", "citations": [
                {**place, "start_char_index": start, "end_char_index": len(text)}
            ]},
            {"type": "text", "text": " and "},
            {"type": "text", "text": "used licenses count", "citations": [
                {**place, "start_char_index": 0, "end_char_index": 9, "cited_text": "unused licenses."}
            ]},
            {"type": "text", "text": ".", "citations": None},
            {"type": "text", "text": "Data stays in the EU.", "citations": [
                {"type": "search_result_location", "source": "data-region", "cited_text": "EU region"},
                {"type": "page_location", "document_index": 7, "document_title": "Terms", "cited_text": "x"},
            ]},
        ],
    }  # fmt: skip
    found = verify(message, SOURCES)
    assert [(claim.outcome, claim.explanation) for claim in found.claims] == [
        ("kept", ""),
        ("kept", ""),
        ("dropped", "unknown source: Terms"),
    ]
    assert [claim.passages[0].moved for claim in found.claims] == [False, True, False]
    assert found.claims[0].passages[0].start == start
    assert found.uncited == ("According to the policy,", "and")


TEXT = "Refunds take 14 days ([policy](https://x.test/refunds)). Data stays in the EU. Nothing is cited here."
MARK = "([policy](https://x.test/refunds))"
URL = {"url": "https://x.test/refunds", "title": "Refunds"}
AT = {"start_index": TEXT.index(MARK), "end_index": TEXT.index(MARK) + len(MARK)}
FILE = {"type": "file_citation", "file_id": "f1", "filename": "data-region", "index": TEXT.index(" Nothing")}


@pytest.mark.parametrize(
    "answer",
    [
        {
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "message", "content": [
                    {"type": "output_text", "text": TEXT, "annotations": [{"type": "url_citation", **URL, **AT}, FILE]}
                ]},
            ]
        },
        {
            "choices": [
                {"message": {"content": TEXT, "annotations": [
                    {"type": "url_citation", "url_citation": {**URL, **AT}}, FILE
                ]}}
            ]
        },
        {
            "content": [
                {"type": "text", "text": {"value": TEXT, "annotations": [
                    {"type": "url_citation", **URL, **AT},
                    {"type": "file_citation", "start_index": FILE["index"], "end_index": FILE["index"],
                     "file_citation": {"file_id": "data-region"}},
                ]}}
            ]
        },
    ],
    ids=["responses", "chat", "assistants"],
)  # fmt: skip
def test_openai_annotations(answer: dict[str, Any]) -> None:
    sources = {"https://x.test/refunds": SOURCES["refund-policy"], "data-region": SOURCES["data-region"]}
    found = verify(answer, sources)
    assert [(claim.claim, claim.outcome) for claim in found.claims] == [
        ("Refunds take 14 days.", "kept"),
        ("Data stays in the EU.", "kept"),
    ]
    assert found.claims[0].passages[0].quote is None
    assert found.claims[0].checks[0].outcome == "found"
    assert found.uncited == ("Nothing is cited here.",)
    short = {**sources, "https://x.test/refunds": "Refunds within 30 days."}
    assert verify(answer, short).claims[0].reason == "numbers_not_in_quote"
    assert verify(answer, {"data-region": "x"}).claims[0].reason == "unknown_source"


def test_an_annotation_over_words_is_about_their_sentence() -> None:
    text = "Nothing here. Refunds take 14 days."
    start = text.index("Refunds")
    note = {"type": "url_citation", "url": "refund-policy", "title": "", "start_index": start, "end_index": len(text)}
    found = verify({"content": [{"type": "output_text", "text": text, "annotations": [note]}]}, SOURCES)
    assert [claim.claim for claim in found.claims] == ["Refunds take 14 days."]


async def test_a_source_cited_as_a_whole_is_shown_where_it_speaks_of_the_claim() -> None:
    judge = Labelling("supported")
    note = {"type": "file_citation", "file_id": "long", "index": 20}
    sources = {"long": "Padding text. " * 3_000 + SOURCES["refund-policy"]}
    draft = {"content": "Refunds take 14 days", "annotations": [note]}
    found = await resolve(verify(draft, sources), sources, judge=judge)
    assert found.claims[0].outcome == "kept"
    assert len(judge.views[0].shown[0].text) <= 16_000
    assert "14 days of purchase" in judge.views[0].shown[0].text


@pytest.mark.parametrize(
    ("draft", "says"),
    [
        ({}, "expected"),
        ("text", "expected"),
        (None, "expected"),
        ([], "no claim"),
        ([{"claim": "x"}], "0.source"),
        ([GOOD, {"claim": "", "quote": "q", "source": "s"}], "1.claim: is empty"),
        ([{"claim": "PRIVATE", "quote": 3, "source": "s"}], "0.quote"),
        ({"content": [{"type": "text", "text": "hi"}]}, "expected"),
        ({"content": [{"type": "text", "text": "hi", "citations": []}]}, "no claim"),
    ],
)
def test_a_draft_of_another_form_is_refused(draft: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as error:
        read_draft(draft, SOURCES)
    assert "PRIVATE" not in str(error.value)


@pytest.mark.parametrize("sources", [{}, [], None, {"a": 1}])
def test_sources_of_another_form_are_refused(sources: Any) -> None:
    with pytest.raises(ConfigError, match="sources"):
        verify([GOOD], sources)
