"""The bundled traces: each is read as the one trace it is, shows what its name says, and holds nothing of a machine."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from groundwire.connectors.files import read_traces
from groundwire.connectors.partitions import cut
from groundwire.connectors.trace import Trace
from groundwire.jobs import demo
from groundwire.jobs.cli.demo import run_demo
from groundwire.scorer.metrics.reading import answer_of, question_of, tool_blocks

FOLDER = Path(str(files(demo)))
SHOWN = {  # source, then span kinds in time order, tools that failed, and words that the answer ends with
    "fabricated_tool_result.otlp.json": ("otlp", "AGENT LLM TOOL LLM", 0, "number SC-88213."),
    "failed_tool_answered.langfuse.json": ("langfuse", "AGENT LLM TOOL LLM TOOL LLM", 1, "3 business days."),
    "german.otlp.json": ("otlp", "AGENT LLM TOOL LLM", 0, "kostet 2,50 €."),
    "grounded.otlp.json": ("otlp", "AGENT LLM TOOL LLM", 0, "€64.90 in total."),
    "invented_number.phoenix.jsonl": (
        "openinference",
        "CHAIN CHAIN LLM CHAIN CHAIN TOOL CHAIN LLM CHAIN CHAIN TOOL CHAIN LLM CHAIN",
        0,
        "than in September.",
    ),
    "long_tool_result.phoenix.jsonl": (
        "openinference",
        "CHAIN CHAIN LLM CHAIN CHAIN TOOL CHAIN LLM CHAIN",
        0,
        "from 5 December 2026.",
    ),
    "no_claims.conversation.json": ("conversation", "LLM", 0, "I can help you with."),
    "no_evidence.langsmith.jsonl": ("langsmith", "CHAIN LLM TOOL LLM", 0, "09:00 to 17:30."),
    "orchestrator.otlp.json": ("otlp", "AGENT LLM TOOL AGENT LLM TOOL LLM LLM", 0, "for all 14 of you."),
    "spanish.conversation.jsonl": ("conversation", "LLM", 0, "12 meses de garantía."),
    "wrong_entity.langsmith.jsonl": (
        "langsmith",
        "CHAIN CHAIN LLM CHAIN CHAIN TOOL CHAIN LLM CHAIN",
        0,
        "without parking.",
    ),
}


def trace_in(file: str) -> Trace:
    (trace,) = read_traces(FOLDER / file)
    assert isinstance(trace, Trace)
    return trace


def test_every_file_is_known_here_and_in_the_package():
    found = {path.name for path in FOLDER.iterdir() if path.suffix in (".json", ".jsonl")}
    assert found == set(SHOWN)
    assert demo.__doc__ is not None
    assert set(re.findall(r"^\| `(.+?)`", demo.__doc__, re.MULTILINE)) == found


@pytest.mark.parametrize("file", SHOWN)
def test_a_file_is_the_trace_that_it_is_named_after(file):
    source, kinds, failed, ending = SHOWN[file]
    trace = trace_in(file)
    assert trace.source == source
    assert " ".join(span.kind for span in trace.spans) == kinds
    assert sum(block.failed for block in tool_blocks(trace.spans)) == failed
    assert answer_of(trace.spans).endswith(ending)
    assert question_of(trace.spans)


@pytest.mark.parametrize("file", SHOWN)
def test_a_file_is_small_and_tells_nothing_of_where_it_was_made(file):
    text = (FOLDER / file).read_text(encoding="utf-8")
    assert len(text.encode()) < (150_000 if file.startswith("long") else 60_000)
    assert (
        re.search(r"/(?:tmp|root|home)|site-packages|127\.0\.0\.1|localhost|Bearer|sk-lf|0x[0-9a-f]{6}", text) is None
    )


def test_the_long_tool_result_is_long_and_has_the_fact_in_its_middle():
    (partition,) = cut(trace_in("long_tool_result.phoenix.jsonl"), "trace")
    (block,) = tool_blocks(partition.spans)
    assert len(block.text) > 8_000
    assert 0.4 < block.text.index('"C-17"') / len(block.text) < 0.6


OUTCOMES = {  # status, reason, score
    "fabricated_tool_result.otlp.json": ("scored", None, 0.33),
    "failed_tool_answered.langfuse.json": ("scored", None, 0.5),
    "german.otlp.json": ("scored", None, 0.67),
    "grounded.otlp.json": ("scored", None, 1.0),
    "invented_number.phoenix.jsonl": ("scored", None, 0.75),
    "long_tool_result.phoenix.jsonl": ("scored", None, 1.0),
    "no_claims.conversation.json": ("unknown", "no_claims", None),
    "no_evidence.langsmith.jsonl": ("unknown", "no_evidence", None),
    "orchestrator.otlp.json": ("invalid", "orchestrator_subagent", None),
    "spanish.conversation.jsonl": ("scored", None, 1.0),
    "wrong_entity.langsmith.jsonl": ("scored", None, 0.8),
}


def test_the_demo_scores_them_as_they_deserve(tmp_path, capsys):
    assert run_demo(tmp_path) == 0
    capsys.readouterr()
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {row["trace_id"]: row for row in map(json.loads, lines)}
    assert len(rows) == len(SHOWN)
    for file, (status, reason, score) in OUTCOMES.items():
        row = rows[trace_in(file).trace_id]
        rounded = None if row["score"] is None else round(row["score"], 2)
        assert (file, row["status"], row["reason"], rounded) == (file, status, reason, score)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count('<article class="entry"') == len(SHOWN)
