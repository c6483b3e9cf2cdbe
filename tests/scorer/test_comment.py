"""The comment beside a score: its first line, what is in doubt, what was not seen, and its limit."""

from datetime import UTC, datetime
from typing import Any

from groundwire.scorer.claims import Check, Citation, Claim
from groundwire.scorer.comment import LIMIT, headline, write_comment
from groundwire.scorer.evidence import BlockCoverage, Coverage
from groundwire.scorer.row import Row
from groundwire.scorer.spend import Usage


def row(**fields: Any) -> Row:
    return Row(
        **{
            "row_id": "row_1",
            "partition_id": "t1",
            "partition_type": "trace",
            "trace_id": "t1",
            "metric": "agent.hallucination",
            "metric_version": "1.0.0",
            "status": "scored",
            "direction": "higher_is_better",
            "judge": {"kind": "llm", "model": "gpt-5-mini"},
            "config_fingerprint": "f",
            "groundwire_version": "0.1.0",
            "created_at": datetime(2026, 11, 30, tzinfo=UTC),
            **fields,
        }
    )


GOOD = Claim(text="It ships today.", label="supported", evidence=Citation(block="E1", quote="today", verified=True))
BAD = Claim(text="It costs $999.", label="hallucinated", reason="E1 says 450")


def test_the_first_line_says_what_the_score_stands_on() -> None:
    assert headline(row(score=0.75, claims=(GOOD, GOOD, GOOD, BAD))) == "0.75 · 3 of 4 claims grounded"
    undecided = Claim(text="x", reason="undecided")
    some = row(score=1.0, claims=(GOOD, GOOD, GOOD, GOOD, undecided))
    assert headline(some) == "1.00 · 4 of 4 claims grounded (4 of 5 decided)"
    dimensions = {"numeric": 0.0, "categorical": 1.0, "no_fabrication": 1.0, "completeness": 1.0}
    assert (
        headline(row(partition_type="span", score=0.65, dimensions=dimensions))
        == "0.65 · numeric 0.00 · categorical 1.00 · no fabrication 1.00 · completeness 1.00"
    )
    assert headline(row(status="unknown", reason="undecided")) == "unknown: undecided"


def test_what_is_supported_beyond_doubt_is_left_out_and_the_rest_stands_worst_first() -> None:
    unverified = GOOD.model_copy(
        update={"text": "It is blue.", "evidence": Citation(block="E2", quote="blue", verified=False)}
    )
    check = Check(check="number", text="7", start=0, end=1, outcome="not_found")
    disputed = GOOD.model_copy(update={"text": "7 days.", "checks": (check,)})
    undecided = Claim(text="Perhaps.", reason="undecided")
    lines = write_comment(row(score=0.5, claims=(GOOD, unverified, disputed, undecided, BAD))).split("\n")
    assert lines[1] == "- hallucinated: “It costs $999.” · E1 says 450"
    assert lines[2] == "- undecided: “Perhaps.”"
    assert lines[3] == "- supported: “It is blue.” · E2: “blue”, quote not found there"
    assert lines[4].startswith("- supported: “7 days.”")
    assert "It ships today" not in "\n".join(lines)


def test_it_says_what_was_not_seen_what_it_cost_and_who_judged() -> None:
    coverage = Coverage(blocks=(BlockCoverage(block="E1", shown=2000, total=50_000),), media_not_checked=2)
    text = write_comment(
        row(score=1.0, coverage=coverage, flags=("rechecked",), usage=Usage(calls=2, micro_dollars=1234))
    )
    assert "Not all evidence was seen: E1 2,000 of 50,000 characters. 2 images or files not checked." in text
    assert "Flags: rechecked" in text
    assert text.endswith(
        "agent.hallucination 1.0.0 · trace · judge llm gpt-5-mini · $0.001234 · groundwire 0.1.0 · row_1"
    )


def test_the_offline_judge_says_that_it_is_lexical() -> None:
    assert "Lexical check" in write_comment(row(score=1.0, judge={"kind": "offline", "model": "offline-1"}))
    assert "Lexical check" in write_comment(
        row(status="unknown", reason="no_claims", judge={"kind": "offline", "model": "offline-1"})
    )
    assert "Lexical check" not in write_comment(row(score=1.0))


def test_a_long_comment_is_cut_between_lines_and_keeps_its_end() -> None:
    claims = tuple(BAD.model_copy(update={"text": f"Claim {i} " + "long words " * 20}) for i in range(100))
    text = write_comment(row(score=0.0, claims=claims), note="re-scored: 2 spans arrived later (before: 1.00)")
    assert len(text) <= LIMIT
    lines = text.split("\n")
    assert lines[1] == "re-scored: 2 spans arrived later (before: 1.00)"
    assert lines[-1].endswith("row_1")
    listed = sum(line.startswith("- hallucinated") for line in lines)
    assert f"… and {100 - listed} more claims in doubt" in lines


def test_line_breaks_in_claims_do_not_break_lines() -> None:
    text = write_comment(row(score=0.0, claims=(BAD.model_copy(update={"text": "one\ntwo\r\n\nthree"}),)))
    assert "- hallucinated: “one two three”" in text
