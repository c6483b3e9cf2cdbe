"""`groundwire score --metric` and `manifest` for every metric, from the command line to the page."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from groundwire.jobs.cli import app
from groundwire.scorer import METRICS, ConfigError

QUESTION = {"role": "user", "content": "How long can I return electronics?"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_policy", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": '{"policy": "Electronics can be returned within 30 days."}'}
WRONG, RIGHT = "Electronics can be returned within 90 days.", "Electronics can be returned within 30 days."


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.output


def scored(path: Path, *arguments: str) -> list[dict[str, Any]]:
    out = path.with_suffix(".rows")
    code, told = run("score", str(path), "--out", str(out), *arguments)
    assert code == 0, told
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def written(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "chats.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize("level", ["span", "trace", "session"])
def test_conversations_are_scored_at_every_level(level: str, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"messages": [QUESTION, CALL, RESULT, said(WRONG)]},
        {"messages": [QUESTION, CALL, RESULT, said(RIGHT)]},
    )
    rows = scored(path, "--metric", "conversation.hallucination", "--level", level)
    assert [(row["partition_type"], row["label"], row["score"]) for row in rows] == [
        (level, "hallucinated", 1.0),
        (level, "grounded", 0.0),
    ]
    assert "90 days" in rows[0]["explanation"]


def test_the_traces_of_a_session_are_one_partition_in_whatever_file(tmp_path: Path) -> None:
    first = written(tmp_path, {"id": "a", "session_id": "s", "messages": [QUESTION, CALL, RESULT, said(RIGHT)]})
    second = tmp_path / "later.jsonl"
    turn = {"id": "b", "session_id": "s", "messages": [{"role": "user", "content": "And opened ones?"}, said(WRONG)]}
    alone = {**turn, "id": "c", "session_id": None}
    second.write_text(f"{json.dumps(turn)}\n{json.dumps(alone)}\n", encoding="utf-8")
    rows = scored(first, str(second), "--metric", "conversation.hallucination", "--level", "session")
    by_id = {row["partition_id"]: row for row in rows}
    assert set(by_id) == {"session:s", "session:c"}
    assert (by_id["session:s"]["trace_id"], by_id["session:s"]["label"]) == ("b", "hallucinated")
    assert by_id["session:c"]["label"] is None  # nothing but the user's words could hold it


def test_every_turn_can_be_judged_against_what_came_before(tmp_path: Path) -> None:
    path = written(tmp_path, {"messages": [QUESTION, CALL, RESULT, said(WRONG), QUESTION, said(RIGHT)]})
    rows = scored(path, "--metric", "conversation.hallucination", "--each-turn")
    assert [row["label"] for row in rows] == ["hallucinated", "grounded"]


def test_spans_stand_in_rows_table_and_page(tmp_path: Path) -> None:
    path = written(tmp_path, {"messages": [QUESTION, CALL, RESULT, said(f"{WRONG} <script>alert(1)</script>")]})
    page = tmp_path / "report.html"
    [row] = scored(path, "--metric", "unsupported_spans", "--html", str(page))
    assert (row["label"], row["score"], row["metric"]) == ("matched", 1.0, "unsupported_spans")
    span = row["claims"][0]
    assert (span["text"], span["type"], span["subtype"]) == ("90 days", "contradiction", "unit")
    assert span["evidence"]["quote"] == "30 days"
    html = page.read_text(encoding="utf-8")
    assert "Unsupported spans" in html
    assert "<script>alert" not in html
    code, told = run("score", str(path), "--metric", "unsupported_spans")
    assert code == 0
    assert "1.00" in told


def test_explain_shows_the_record_of_a_session(tmp_path: Path) -> None:
    path = written(tmp_path, {"session_id": "s", "messages": [QUESTION, CALL, RESULT, said(WRONG)]})
    [row] = scored(path, "--metric", "conversation.hallucination", "--level", "session")
    code, told = run("explain", row["row_id"], "--rows", str(path.with_suffix(".rows")), str(path))
    assert code == 0
    assert "hallucinated · " in told
    assert "get_policy" in told


@pytest.mark.parametrize("metric", list(METRICS))
def test_every_metric_prints_its_manifest(metric: str) -> None:
    code, told = run("manifest", metric, "--json")
    assert code == 0
    found = json.loads(told)
    assert (found["name"], found["version"], found["kind"]) == (metric, "1.0.0", "trace_metric")
    assert found["metric_metadata"]["worked_example"]
    assert found["config_schema"]["additionalProperties"] is False
    assert all(field["description"] for field in found["config_schema"]["properties"].values())
    code, told = run("manifest")
    assert f"{metric} 1.0.0" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--metric", "halucination"), "no metric is called 'halucination'; there are: agent.hallucination"),
        (("--metric", "unsupported_spans", "--level", "session"), "scores span and trace partitions, not sessions"),
        (("--level", "session"), "agent.hallucination scores span and trace partitions, not sessions"),
        (("--metric", "conversation.hallucination", "--recheck"), "--recheck: conversation.hallucination has no such"),
        (
            (
                "--metric",
                "unsupported_spans",
                "--judge",
                "decision",
                "--model",
                "d",
                "--base-url",
                "http://127.0.0.1:9",
            ),
            "span_required",
        ),
        (
            ("--metric", "conversation.hallucination", "--level", "session", "--each-turn"),
            "--each-turn makes a span of every turn",
        ),
    ],
)
def test_what_can_not_be_done_is_said_in_one_line(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps({"messages": [QUESTION, {"role": "assistant", "content": RIGHT}]}), encoding="utf-8")
    done = CliRunner().invoke(app, ["score", str(path), *arguments])
    assert isinstance(done.exception, ConfigError)
    assert said in str(done.exception)
    assert "\n" not in str(done.exception)
