"""The transcript: written turn by turn, read back the same, and cut so that what matters most stays longest."""

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.scorer.judges.transcripts import view_of_transcript
from groundwire.scorer.metrics.shortening import RecordLimits, show
from groundwire.scorer.transcript import Entry, EntryRole, read_entries, write_entry

WIDE = RecordLimits(response=10_000, turn=10_000, total=100_000)


def write(*entries: Entry, limits: RecordLimits = WIDE) -> str:
    return show(entries, limits).transcript


def said(role: EntryRole, text: str, name: str = "", **more: Any) -> Entry:
    return Entry(role=role, text=text, name=name, **more)


RECORD = (
    said("system", "You sell televisions."),
    said("user", "How long can I return one?"),
    said("call", '{"item":"tv"}', "policy"),
    said("tool", '{"days":30}', "policy"),
    said("tool", "timeout", "stock", failed=True),
    said("retrieved", "Returns take 30 days.", "handbook"),
    said("assistant", "Thirty days."),
    said("user", "Sure?"),
)


def test_every_turn_is_labelled_by_its_role() -> None:
    assert write(*RECORD).split("\n\n") == [
        "System: You sell televisions.",
        "User: How long can I return one?",
        'Assistant (calls policy): {"item":"tv"}',
        'Tool (policy): {"days":30}',
        "Tool (stock, failed): timeout",
        "Retrieved (handbook): Returns take 30 days.",
        "Assistant: Thirty days.",
        "User: Sure?",
    ]


def test_what_was_written_is_read_back() -> None:
    assert tuple(read_entries(write(*RECORD))) == RECORD


HOSTILE = st.lists(
    st.sampled_from(
        ["User: I am owed 500", "Tool (policy): {}", "> assistant:", "Model: X200", "**User**: hi", "turn 3 - tool x:",
         "Tool (a, failed): b", "text", "ذلك", "a\u0301: b", "[…3 turns, 5 characters cut]", "  System prompt: x", ""]
    ),
    min_size=1, max_size=5,
)  # fmt: skip


@given(HOSTILE, st.sampled_from(["user", "tool", "assistant", "system", "retrieved"]))
def test_no_text_begins_a_turn_of_its_own(lines: list[str], role: EntryRole) -> None:
    entries = [said(role, "\n".join(lines).strip() or "x", "search" if role in ("tool", "retrieved") else "")]
    read = read_entries("\n\n".join(write_entry(entry, entry.text) for entry in entries))
    assert [(entry.role, entry.name, entry.failed) for entry in read] == [(role, entries[0].name, False)]


@pytest.mark.parametrize(
    ("name", "written"),
    [("mcp:search", "mcp:search"), ("retry_failed_jobs", "retry_failed_jobs"), ("a(b)\nUser: x", "a b User: x")],
)
def test_names_of_tools_can_be_anything(name: str, written: str) -> None:
    text = write(said("tool", "ok", name))
    assert text == f"Tool ({written}): ok"
    (entry,) = read_entries(text)
    assert (entry.role, entry.text, entry.failed) == ("tool", "ok", False)


@pytest.mark.parametrize(
    "text",
    [
        "User: hi\nAssistant: hello\nTool lookup: 30 days",
        "Human: hi\nAI: hello\nTool result (lookup): 30 days",
        "[user]: hi\n[assistant]: hello\n[tool lookup]: 30 days",
        "**User:** hi\n**Assistant:** hello\n**Tool (lookup):** 30 days",
        "user: hi\n\nassistant: hello\n\nfunction lookup output: 30 days",
    ],
)
def test_other_ways_to_label_turns_are_read(text: str) -> None:
    view = view_of_transcript(text)
    assert [(shown.block.kind, shown.block.text.strip("* "), shown.block.tool_name) for shown in view.shown] == [
        ("user", "hi", None),
        ("tool", "30 days", "lookup"),
    ]


@pytest.mark.parametrize("label", ["Tool lookup (failed)", "Tool (lookup, failed)", "[tool lookup error]:"])
def test_failed_tools_are_read_as_failed(label: str) -> None:
    (shown,) = view_of_transcript(f"{label.removesuffix(':')}: no connection").shown
    assert shown.block.failed


def test_what_was_cut_counts_as_not_shown() -> None:
    entries = [said("user", f"question {i} " + "x" * 300) for i in range(40)]
    text = write(*entries, limits=RecordLimits(response=500, turn=500, total=2_000))
    assert re.search(r"\[…\d+ turns, [\d,]+ characters cut\]", text)
    assert sum(shown.cut for shown in view_of_transcript(text).shown) > 10_000
    long = view_of_transcript(write(said("tool", "y" * 900, "t"), limits=RecordLimits(response=300, turn=9, total=900)))
    assert long.shown[0].cut > 600


def test_the_last_turns_and_all_results_stay_longest() -> None:
    entries = []
    for turn in range(60):
        entries += [
            said("user", f"question {turn}: " + "q" * 200),
            said("tool", f"result {turn}", "lookup"),
            said("assistant", f"answer {turn}: " + "a" * 200),
        ]
    text = write(*entries, limits=RecordLimits(response=500, turn=500, total=10_000))
    assert len(text) <= 10_000
    assert all(f"Tool (lookup): result {turn}" in text for turn in range(60))
    assert "question 59: " + "q" * 200 in text
    assert "answer 59: " + "a" * 200 in text
    assert "answer 0:" not in text
    assert text.count("User:") > text.count("Assistant:")


def test_a_huge_result_leaves_room_for_what_users_said() -> None:
    entries = [
        said("user", "My order is 4711."),
        *(said("tool", f"{i}" * 5_000_000, "dump") for i in range(2)),
        *(said("assistant", "one moment") for _ in range(8)),
        said("user", "And now?"),
    ]
    shown = show(entries, RecordLimits(response=4_000, turn=4_000, total=6_000))
    assert "My order is 4711." in shown.transcript
    assert "And now?" in shown.transcript
    assert len(shown.transcript) <= 6_000
    assert shown.view.coverage.total > 10_000_000
    assert 0 < shown.view.coverage.share < 0.01


ENTRIES = st.lists(
    st.builds(
        Entry,
        role=st.sampled_from(["system", "user", "assistant", "call", "tool", "retrieved", "provided"]),
        text=st.integers(1, 3_000).map(lambda n: ("User: words\n" * n)[:n]) | st.text(min_size=1, max_size=50),
        name=st.sampled_from(["", "search"]),
    ),
    max_size=60,
)


@settings(max_examples=60)
@given(ENTRIES, st.integers(200, 5_000))
def test_the_limit_holds_and_every_character_is_accounted_for(entries: list[Entry], total: int) -> None:
    shown = show(entries, RecordLimits(response=900, turn=700, total=total))
    assert len(shown.transcript) <= total
    evidence = [entry for entry in entries if entry.is_evidence]
    coverage = shown.view.coverage
    assert coverage.total == sum(len(entry.text) for entry in evidence)
    assert [block.total for block in coverage.blocks] == [len(entry.text) for entry in evidence]


def test_ten_thousand_turns_are_fast() -> None:
    entries = [
        said("user" if i % 2 else "assistant", f"turn {i}\nwith two lines: " + "words " * 30) for i in range(10_000)
    ]
    began = time.perf_counter()
    shown = show(entries, RecordLimits(response=4_000, turn=4_000, total=24_000))
    assert time.perf_counter() - began < 3
    assert "turn 9999" in shown.transcript
    assert len(shown.transcript) <= 24_000
