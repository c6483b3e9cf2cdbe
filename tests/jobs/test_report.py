"""The HTML report: what is marked where, what is told apart, and that nothing of a trace becomes markup."""

import html
import re
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.jobs.report import ReportEntry, open_html, write_html
from groundwire.jobs.report.entry import ANSWER_LIMIT
from groundwire.jobs.report.marking import mark
from groundwire.scorer import Block, Check, Citation, Claim, Limits, Row, Usage, fit

OFFLINE = {"kind": "offline", "model": "offline-1", "parameters": {}}


def row(**changes: Any) -> Row:
    fields: dict[str, Any] = {
        "row_id": "r1",
        "partition_id": "p1",
        "partition_type": "trace",
        "trace_id": "trace-1",
        "metric": "agent.hallucination",
        "metric_version": "1.0.0",
        "status": "scored",
        "score": 0.5,
        "direction": "higher_is_better",
        "judge": OFFLINE,
        "config_fingerprint": "f00d",
        "groundwire_version": "0.1.0",
        "created_at": datetime(2026, 11, 30, 9, tzinfo=UTC),
    }
    return Row(**{**fields, **changes})


def unscored(status: str, reason: str, **changes: Any) -> Row:
    return row(status=status, reason=reason, score=None, **changes)


def claim(answer: str, text: str, **fields: Any) -> Claim:
    start = answer.index(text)
    return Claim(text=text, start=start, end=start + len(text), **fields)


def entry(
    answer: str, *claims: Claim, blocks: tuple[Block, ...] = (), question: str = "Q", **changes: Any
) -> ReportEntry:
    view = fit(blocks, Limits())
    return ReportEntry(
        row=row(claims=claims, coverage=view.coverage, **changes), question=question, answer=answer, blocks=view.shown
    )


@pytest.fixture
def report(tmp_path):
    def write(*entries: ReportEntry) -> str:
        path = tmp_path / "report.html"
        assert write_html(entries, path, title="Traces") == len(entries)
        page: str = path.read_text(encoding="utf-8")
        return page

    return write


def marks(page: str) -> list[tuple[str, str]]:
    """Label and words of every mark in the answers, in order."""
    found = re.findall(r'<a class="claim (\w+)"[^>]*>(.*?)</a>', page, re.DOTALL)
    return [(label, html.unescape(text)) for label, text in found]


def answer_of(page: str) -> str:
    (inside,) = re.findall(r'<div class="prose answer"[^>]*>(.*?)</div>', page, re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", inside))


def texts(page: str, pattern: str) -> list[str]:
    found = re.findall(pattern, page, re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split()) for text in found]


def test_each_label_is_marked_in_place_with_a_sign_of_its_own(report):
    answer = "Red. Amber. Blue. Violet. Green."
    page = report(
        entry(
            answer,
            claim(answer, "Red.", label="hallucinated"),
            claim(answer, "Amber.", reason="undecided"),
            claim(answer, "Blue.", label="inferred"),
            claim(answer, "Violet.", label="model_knowledge"),
            claim(answer, "Green.", label="supported"),
        )
    )
    assert marks(page) == [
        ("hallucinated", "Red."),
        ("undecided", "Amber."),
        ("inferred", "Blue."),
        ("model_knowledge", "Violet."),
        ("supported", "Green."),
    ]
    assert re.findall(r'data-end="(.)(\d)"', page) == [("✕", "1"), ("?", "2"), ("≈", "3"), ("○", "4"), ("✓", "5")]
    assert answer_of(page) == answer


def test_a_mark_leads_to_its_card_and_the_card_to_mark_and_quote(report):
    answer = "The total is 12 €."
    block = Block(name="E1", kind="tool", tool_name="get_bill", text='{"total": 12}', arguments='{"month": 3}')
    check = Check(
        check="number", text="12 €", start=13, end=17, outcome="found", block="E1", path="$.total", quote="12"
    )
    page = report(
        entry(
            answer,
            claim(
                answer,
                "The total is 12 €.",
                label="supported",
                reason="It says so.",
                evidence=Citation(block="E1", quote='"total": 12', verified=True, path="$.total"),
                checks=(check,),
            ),
            blocks=(block,),
        )
    )
    assert '<a class="claim supported" id="t1a0" href="#t1c1"' in page
    assert '<a href="#t1a0">Show in the answer</a>' in page
    assert '<a class="to-evidence" href="#t1-E1-1">E1 · get_bill</a>' in page
    assert '<mark id="t1-E1-1" tabindex="-1">&#34;total&#34;: 12</mark>' in page
    assert "It says so." in page
    assert texts(page, r"<ul class=\"checks\">(.*?)</ul>") == ["✓ number 12 € : in the evidence, 12 E1 $.total"]
    assert "quote not found there" not in page


def test_a_quote_that_is_not_there_is_in_doubt_and_leads_to_its_block(report):
    answer = "The total is 12."
    page = report(
        entry(
            answer,
            claim(answer, answer, label="supported", evidence=Citation(block="E1", quote="twelve")),
            blocks=(Block(name="E1", kind="tool", text="nothing of it"),),
        )
    )
    assert '<a class="to-evidence" href="#t1-E1">E1 · tool result</a>' in page
    assert "quote not found there" in page
    assert "<mark id" not in page


def test_a_quote_beyond_what_is_shown_is_shown_with_what_stands_around_it(report):
    answer = "The fee is 75 €. The key costs 9 €."
    text = "a " * 3_000 + "The fee is 75 euros; a key is 9 euros." + " b" * 3_000
    fee, key = (Citation(block="E1", quote=quote, verified=True) for quote in ("fee is 75", "key is 9"))
    page = report(
        entry(
            answer,
            claim(answer, "The fee is 75 €.", label="supported", evidence=fee),
            claim(answer, "The key costs 9 €.", label="supported", evidence=key),
            blocks=(Block(name="E1", kind="tool", tool_name="rules", text=text),),
        )
    )
    assert texts(page, r'<p class="fine further">(.*?)</p>') == ["further on, from character 5,765"]
    assert texts(page, r"<mark id=[^>]*>(.*?)</mark>") == ["fee is 75", "key is 9"]
    assert re.findall(r'<a class="to-evidence" href="(.*?)"', page) == ["#t1-E1p0-1", "#t1-E1p0-3"]


def test_a_quote_is_marked_at_its_path_and_not_where_it_stands_by_chance(report):
    answer = "It holds 4 mugs."
    block = Block(name="E1", kind="tool", text='{"order": "KC-204", "left": 4, "quantity": 4}')
    citation = Citation(block="E1", quote="4", verified=True, path="$.quantity")
    page = report(entry(answer, claim(answer, answer, label="supported", evidence=citation), blocks=(block,)))
    (before,) = re.findall(r'<pre dir="auto">(.*?)<mark', page)
    assert html.unescape(before) == '{"order": "KC-204", "left": 4, "quantity": '


def test_overlapping_claims_take_the_worst_style_and_keep_both(report):
    answer = "one two three"
    page = report(
        entry(answer, claim(answer, "one two", label="supported"), claim(answer, "two three", label="hallucinated"))
    )
    assert marks(page) == [("supported", "one "), ("hallucinated", "two"), ("hallucinated", " three")]
    assert 'data-claims="t1c1 t1c2 "' in page
    assert answer_of(page) == answer


def test_a_claim_inside_another_is_marked_too(report):
    answer = "costs 5 a month"
    page = report(entry(answer, claim(answer, answer, label="hallucinated"), claim(answer, "5", label="supported")))
    assert marks(page) == [("hallucinated", "costs "), ("hallucinated", "5"), ("hallucinated", " a month")]
    assert answer_of(page) == answer


def test_offsets_are_code_points_and_edges_never_part_a_character(report):
    answer = "👩🏽‍🍳 opens the cafe\u0301 at 9. 🇳🇴🇸🇪 closed."
    inside = answer.index("\u0301")
    page = report(
        entry(
            answer,
            claim(answer, "opens the cafe", label="supported"),  # ends between the e and its accent
            Claim(text="🇴", start=answer.index("🇴"), end=answer.index("🇴") + 1, label="hallucinated"),
        )
    )
    assert answer[inside - 1 : inside + 1] == "e\u0301"
    assert marks(page) == [("supported", "opens the cafe\u0301"), ("hallucinated", "🇳🇴")]
    assert answer_of(page) == answer


def test_right_to_left_text_keeps_its_order_and_says_its_direction(report):
    answer = "الرحلة تغادر الساعة 07:35 وتكلف 214 يورو"
    page = report(entry(answer, claim(answer, "وتكلف 214 يورو", label="hallucinated"), question="متى؟"))
    assert answer_of(page) == answer
    assert marks(page) == [("hallucinated", "وتكلف 214 يورو")]
    assert '<div class="prose answer" dir="auto">' in page


@pytest.mark.parametrize(
    "bad",
    [
        Claim(text="not said", label="hallucinated"),
        Claim(text="not said", start=0, end=8, label="hallucinated"),
        Claim(text="beyond", start=900, end=906, label="hallucinated"),
        Claim(text="backwards", start=5, end=2, label="hallucinated"),
    ],
)
def test_a_claim_without_a_true_place_is_listed_below_and_marks_nothing(report, bad):
    page = report(entry("What was really said.", bad))
    assert marks(page) == []
    assert "Not found word for word in the answer" in page
    assert bad.text in texts(page, r'<span class="quoted"[^>]*>(.*?)</span>')


HOSTILE = "</pre></div></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{ 7*7 }}{% x %}"


def test_nothing_of_a_trace_becomes_markup(report):
    block = Block(name="E1", kind="tool", tool_name=HOSTILE, text=HOSTILE, arguments=HOSTILE, span_id=HOSTILE)
    check = Check(check="name", text=HOSTILE, start=0, end=3, outcome="not_found", path=HOSTILE, quote=HOSTILE)
    hostile_claim = claim(
        HOSTILE,
        HOSTILE,
        label="hallucinated",
        reason=HOSTILE,
        type=HOSTILE,
        evidence=Citation(block="E1", quote=HOSTILE, path=HOSTILE),
        checks=(check,),
    )
    changes = dict.fromkeys(
        ("trace_id", "partition_id", "session_id", "target_span_id", "row_id", "explanation"), HOSTILE
    )
    page = report(
        entry(HOSTILE, hostile_claim, blocks=(block,), question=HOSTILE * 3, flags=(HOSTILE,), **changes),
        entry("Fine.", Claim(text="x", label="supported", evidence=Citation(block=HOSTILE, quote="x"))),
    )
    assert page.count("<script>") == 1
    assert page.count("</script>") == 1
    assert "<img" not in page
    assert "49" not in texts(page, r'<div class="prose answer"[^>]*>(.*?)</div>')[0]
    assert marks(page) == [("hallucinated", HOSTILE)]


def test_the_policy_lets_only_the_report_s_own_script_run(report):
    import base64
    import hashlib

    page = report(entry("x"))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in html.unescape(policy)
    assert f"script-src 'sha256-{digest}'" in html.unescape(policy)


def test_it_loads_nothing_from_anywhere(report):
    page = report(entry("See https://example.org/x.", question="http://example.org"))
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', page) == []
    assert "url(" not in page
    assert "@import" not in page


def test_what_html_cannot_hold_is_replaced_one_for_one(report):
    answer = "a\x00b\ud800c\x1b[31m 5 d"
    page = report(entry(answer, claim(answer, "5", label="hallucinated")))
    assert answer_of(page) == "a\ufffdb\ufffdc\ufffd[31m 5 d"
    assert marks(page) == [("hallucinated", "5")]


def test_no_score_is_never_a_zero(report):
    page = report(
        ReportEntry(row=unscored("unknown", "no_answer", judge={})),
        ReportEntry(row=unscored("invalid", "orchestrator_subagent", judge={}, explanation="Set `root`."), answer="A"),
        ReportEntry(row=unscored("skipped", "over_budget"), answer="A"),
        ReportEntry(row=unscored("error", "judge_unreachable"), answer="A"),
    )
    assert "0.00" not in page
    assert page.count('aria-label="No score"') == 4
    assert "There is no answer." in page
    assert "Set `root`." in page
    assert "Nothing was scored here. That is not a score of zero." in page
    assert texts(page, r'<table class="counts">(.*?)</table>')[0] == (
        "4 rows error judge_unreachable 1 invalid orchestrator_subagent 1 skipped over_budget 1 unknown no_answer 1"
    )
    assert re.findall(r'id="show-(\w+)"', page) == ["all", "unknown", "invalid", "skipped", "error"]


def test_a_real_zero_is_shown_as_one(report):
    page = report(entry("x", score=0.0))
    assert '<span class="visually-hidden">Score </span>0.00' in page
    assert 'aria-label="Distribution of 1 scores: 1 from 0.0 to under 0.1"' in page


def test_rows_that_do_not_compare_are_never_pooled(report):
    page = report(
        entry("a", score=1.0),
        entry("b", score=0.0, config_fingerprint="beef"),
        entry("c", score=0.65, partition_type="span"),
        entry("d", score=1.0, metric="conversation.hallucination", direction="lower_is_better"),
        entry("e", score=0.7),
    )
    assert texts(page, r"<figcaption>(.*?)</figcaption>") == [
        "mean 0.85 of 2 · higher is better",
        "mean 0.00 of 1 · higher is better",
        "mean 0.65 of 1 · higher is better",
        "mean 1.00 of 1 · lower is better",
    ]
    assert re.findall(r'aria-label="Distribution of (.*?)"', page) == [
        "2 scores: 1 from 0.7 to under 0.8; 1 exactly 1",
        "1 scores: 1 from 0.0 to under 0.1",
        "1 scores: 1 from 0.6 to under 0.7",
        "1 scores: 1 exactly 1",
    ]


def test_the_filters_say_how_many_they_show(report):
    answer = "One. Two."
    page = report(
        entry(answer, claim(answer, "One.", label="hallucinated"), claim(answer, "Two.", reason="undecided")),
        entry(answer, claim(answer, "One.", label="hallucinated")),
        ReportEntry(row=unscored("unknown", "no_evidence"), answer=answer),
    )
    labels = texts(page, r"<label><input[^>]*>(.*?)</label>")
    assert labels == ["All 3", "Hallucinated claims 2", "Undecided claims 1", "Scored 2", "Unknown 1"]
    assert re.findall(r'data-show="(.*?)"', page) == ["scored hallucinated undecided", "scored hallucinated", "unknown"]


def test_what_was_not_seen_is_said(report):
    long = Block(name="E1", kind="tool", tool_name="read", text="x" * 5_000)
    failed = Block(name="E2", kind="tool", tool_name="pay", text="timed out", failed=True)
    page = report(entry("Answer.", blocks=(long, failed)))
    assert "1,977 of 5,000 characters seen" in page
    assert "1,986 of 5,009 characters seen" in page
    assert "[…3023 characters cut]" in page
    assert texts(page, r'<section class="block" id="t1-E2">\s*<h3>(.*?)</h3>')[0].startswith(
        "E2 pay ✕ failed tool result"
    )


def test_the_offline_judge_is_called_lexical_and_another_is_not(report):
    page = report(entry("x"))
    assert "Lexical check." in page
    assert "<span>lexical check</span>" in page
    judge = {"kind": "llm", "model": "gpt-5-mini", "parameters": {"temperature": 0}}
    usage = Usage(calls=2, input_tokens=1_800, output_tokens=200, micro_dollars=880)
    page = report(entry("x", judge=judge, usage=usage))
    assert "exical" not in page
    assert texts(page, r"<dt>judge</dt><dd>(.*?)</dd>") == ["llm gpt-5-mini (temperature 0)"]
    assert texts(page, r"<dt>cost</dt><dd>(.*?)</dd>") == ["$0.000880, 2 calls, 2,000 tokens"]


def test_the_dimensions_of_a_span_are_shown(report):
    dimensions = {"numeric": 0.0, "categorical": 1.0, "no_fabrication": 1.0, "completeness": 1.0}
    page = report(entry("x", partition_type="span", target_span_id="s1", score=0.65, dimensions=dimensions))
    assert texts(page, r'<dl class="dimensions">(.*?)</dl>')[0] == (
        "numeric 0.00 0.00 categorical 1.00 1.00 no fabrication 1.00 1.00 completeness 1.00 1.00"
    )


def test_a_long_question_is_cut_in_the_heading_and_whole_below(report):
    page = report(entry("x", question="word " * 60))
    (heading,) = texts(page, r'<h2 id="t1h"[^>]*>(.*?)</h2>')
    assert heading == "word " * 30 + "word…"
    assert texts(page, r'<details class="question">.*?<div[^>]*>(.*?)</div>') == [("word " * 60).strip()]


def test_a_huge_answer_is_cut_and_its_late_claims_are_listed(report):
    answer = "a" * ANSWER_LIMIT + "tail"
    page = report(entry(answer, claim(answer, "tail", label="hallucinated")))
    assert "[…4 more characters of the answer are not shown]" in page
    assert marks(page) == []
    assert "Not found word for word in the answer" in page


def test_an_empty_report_says_so(report):
    page = report()
    assert "There are no rows to show." in page
    assert "0 rows" in page


def test_entries_can_be_added_as_they_come(tmp_path):
    path = tmp_path / "r.html"
    with open_html(path, title="Many") as opened:
        for number in range(300):
            opened.add(entry(f"Answer {number}."))
        assert not path.exists()
    page = path.read_text(encoding="utf-8")
    assert opened.summary.rows == 300
    assert page.index("300 rows") < page.index("Answer 0.") < page.index("Answer 299.")


def test_memory_does_not_grow_with_the_entries(tmp_path):
    def peak(count: int) -> int:
        tracemalloc.start()
        with open_html(tmp_path / "r.html", title="Many") as opened:
            for number in range(count):
                opened.add(entry(f"Answer {number}. " + "word " * 400))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(20)  # templates and caches
    assert peak(400) < peak(40) + 500_000


def test_a_report_that_fails_leaves_the_old_one_and_nothing_else(tmp_path):
    path = tmp_path / "r.html"
    write_html([entry("old")], path, title="Old")
    before = path.read_bytes()

    def failing() -> Iterator[ReportEntry]:
        yield entry("new")
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        write_html(failing(), path, title="New")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_an_os_error():
    with pytest.raises(OSError, match=r"r\.html"):
        write_html([], Path("/nowhere/at/all/r.html"), title="x")


characters = st.text(alphabet="ab \u0301\u200d👩🏽🇳🇴\r\nא", max_size=12)


@given(characters, st.lists(st.none() | st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4))
def test_segments_joined_are_the_text_and_cover_what_was_marked(text, places):
    places = [place if place is None else (min(place), min(max(place), len(text))) for place in places]
    segments = mark(text, places)
    assert "".join(segment.text for segment in segments) == text
    offset = 0
    for segment in segments:
        for index, place in enumerate(places):
            if place is not None and place[0] <= offset and offset + len(segment.text) <= place[1]:
                assert index in segment.marks
        offset += len(segment.text)
    for index in range(len(places)):
        opened = [number for number, segment in enumerate(segments) if index in segment.opens]
        closed = [number for number, segment in enumerate(segments) if index in segment.closes]
        under = [number for number, segment in enumerate(segments) if index in segment.marks]
        assert under == (list(range(opened[0], closed[0] + 1)) if opened else [])


def test_unsupported_spans_are_called_what_they_are(tmp_path: Path) -> None:
    answer = "It can go back within 90 days."
    span = claim(
        answer,
        "90 days",
        label="hallucinated",
        type="contradiction",
        subtype="unit",
        reason="30 days",
        probability=0.97,
    )
    made = entry(answer, span, metric="unsupported_spans", label="matched", score=1.0, direction="lower_is_better")
    path = tmp_path / "spans.html"
    write_html([made], path, title="Spans")
    page = path.read_text(encoding="utf-8")
    assert "contradiction · unit" in page
    assert "probability that it is unsupported 0.97" in page
    assert 'aria-label="Unsupported spans"' in page
    assert "</span> unsupported</span>" in page
