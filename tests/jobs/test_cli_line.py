"""The commands around the line on a folder of files, each as a user runs it one after the other."""

import json
import re
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.flow.unattended import expected
from typer.testing import CliRunner

from groundwire.connectors import Trace
from groundwire.connectors.testing import FakePlatform, Sample, make_samples
from groundwire.jobs.cli import app
from groundwire.scorer import GroundwireError

NAME = "support-groundedness"
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `groundwire …` in a folder of its own; returns what it printed, or fails where the exit code differs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, list(arguments))
        if isinstance(result.exception, GroundwireError):  # `main` makes one line of it
            assert code == 2, str(result.exception)
            return str(result.exception)
        assert result.exit_code == code, result.output
        return result.output

    return run


@pytest.fixture
def platform(tmp_path: Path) -> Any:
    platform = FakePlatform(tmp_path / "platform.db")
    yield platform
    platform.close()


def configured(folder: Path, **more: str) -> None:
    lines = "".join(f"{key} = {value}\n" for key, value in more.items())
    (folder / "groundwire.toml").write_text(
        f"""
[sources.prod]
platform = "groundwire.connectors.testing:fake"
path = "{folder / "platform.db"}"

[[evaluators]]
name = "{NAME}"
source = "prod"
settle = 0
{lines}
[state]
url = "sqlite:///{folder / "state.db"}"
store_text = false
"""
    )


def put(platform: FakePlatform, count: int = 20, *, ago: timedelta = timedelta(minutes=10)) -> list[Sample]:
    found = list(make_samples(count, seed=9, first_end=datetime.now(UTC) - ago))
    platform.put_all(sample.trace for sample in found)
    return found


def test_from_init_to_prune_on_a_folder_of_files(run: Run, tmp_path: Path) -> None:
    assert "Next: groundwire doctor" in run("init", "files")
    assert "ok" in run("doctor")
    found = list(make_samples(20, seed=9, first_end=datetime.now(UTC) - timedelta(minutes=10)))
    adapter = TypeAdapter(Trace)
    (tmp_path / "traces").mkdir()
    for at, sample in enumerate(found):
        spans = [json.loads(span.model_dump_json()) for span in sample.trace.spans]
        partition = {"schema": "canonical_partition_v1", "partition_type": "trace", "spans": spans}
        named = {"partition_id": sample.trace.trace_id, "trace_id": sample.trace.trace_id}
        (tmp_path / "traces" / f"{at}.jsonl").write_text(json.dumps({**partition, **named}))
    assert adapter.dump_python(found[0].trace)["trace_id"] == found[0].trace.trace_id
    assert "Nothing was written." in run("try", NAME, "--n", "3")
    assert not (tmp_path / "scores.jsonl").exists()
    planned = run("plan", NAME, "--from", "7d")
    assert re.search(r"matching, sampled in\s+20 partitions", planned)
    assert all(f"invalid: {rule}" in planned for rule in {sample.rule for sample in found if sample.rule})
    assert "20 partitions taken up" in run("run", "--once")
    scores = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert {score["trace_id"]: score["value"] for score in scores} == expected(found)
    assert "no new rows" in run("run", "--once")
    rows = [json.loads(line) for line in run("rows", "--format", "jsonl").splitlines()]
    assert len(rows) == 20
    assert len(run("rows", "--format", "csv", "--status", "invalid").splitlines()) == 1 + sum(
        sample.score is None for sample in found
    )
    assert "Nothing was spent" in run("spend")
    assert "No gaps." in run("gaps")
    assert run("runs").count("done") == 2
    assert "0 dead letters and 0 errors" in run("retry")
    assert "unchanged" in run("backfill", NAME, "--from", "7d", "--yes")
    first = re.findall(r"run-[0-9a-f]{12}", run("runs"))[-1]
    told = run("retract", NAME, "--run", first, "--yes")
    assert str(len(expected(found))) in told
    assert "1 rows lost their text" in run("prune", "--trace", found[0].trace.trace_id)


def test_a_plan_is_within_a_fifth_of_the_backfill_that_follows(
    run: Run, tmp_path: Path, platform: FakePlatform, judge_server: Any
) -> None:
    configured(tmp_path, sample="0.5")
    with (tmp_path / "groundwire.toml").open("a") as file:
        file.write(
            f'[judges.default]\nkind = "llm"\nmodel = "m"\nbase_url = "{judge_server.url}"\n'
            f'api_key = "{"k" * 20}"\nprice = {{ input = 10.0, output = 10.0 }}\n'
        )
    put(platform, 60)
    planned = run("plan", NAME, "--from", "7d")
    assert judge_server.calls == []
    run("backfill", NAME, "--from", "7d", "--max-usd", "20", "--yes")
    calls = len(judge_server.calls)
    tokens = sum(call.prompt_tokens for call in judge_server.calls)
    cost = sum(10 * (call.prompt_tokens + call.completion_tokens) for call in judge_server.calls) / 1e6

    def said(pattern: str) -> float:
        match = re.search(pattern, planned)
        assert match, planned
        return float(match[1].replace(",", ""))

    assert said(r"judge calls\s+about ([\d,]+)") == pytest.approx(calls, rel=0.2)
    assert said(r"tokens\s+about ([\d,]+) in") == pytest.approx(tokens, rel=0.2)
    assert said(r"cost\s+about \$([\d.]+)") == pytest.approx(cost, rel=0.2)
    assert said(r"at most \$([\d.]+)") >= cost
    rows = [json.loads(line) for line in run("rows", "--format", "jsonl").splitlines()]
    assert said(r"sampled in\s+([\d,]+)") == len(rows)


def test_without_text_no_word_of_a_trace_stays_in_the_state(run: Run, tmp_path: Path, platform: FakePlatform) -> None:
    configured(tmp_path)
    found = put(platform)
    run("run", "--once")
    assert len(platform.scores()) == len(expected(found))
    with sqlite3.connect(tmp_path / "state.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    held = b"".join(file.read_bytes() for file in tmp_path.glob("state.db*"))
    words = {
        word
        for sample in found
        for span in sample.trace.spans
        for word in re.findall(
            r"[A-H]-\d{4}|[A-Z]P-\d{5}|Northpost|Bluewagon|Hermelin|Quickmule", span.model_dump_json()
        )
    }
    assert len(words) > 15
    assert {word for word in words if word.encode() in held} == set()


def test_a_filter_that_matches_nothing_says_what_it_saw(run: Run, tmp_path: Path, platform: FakePlatform) -> None:
    configured(tmp_path, where='{ name = ["quiz"] }')
    put(platform)
    assert re.search(r"0 of 20 traces matched its filter; names seen: \S+", run("run", "--once"))
    assert re.search(r"0 of \d+ traces matched support-groundedness's filter; names seen: \S+", run("try", NAME))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("backfill", "nobody", "--from", "7d"), "nobody"),
        (("backfill", NAME), "say from when"),
        (("backfill", NAME, "--from", "yesterday"), "'yesterday' is no time"),
        (("backfill", NAME, "--from", "1d", "--to", "2d"), "is not before"),
        (("backfill", NAME, "--skipped"), "has no gaps"),
        (("try", "nobody"), "nobody"),
        (("retract", NAME, "--run", "run-0", "--yes"), "groundwire runs"),
        (("rows", "--status", "good"), "good"),
        (("run", "--evaluator", "nobody"), "nobody"),
        (("run", "--config", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_a_mistake_is_one_line(
    run: Run, tmp_path: Path, platform: FakePlatform, arguments: tuple[str, ...], line: str
) -> None:
    configured(tmp_path)
    said = run(*arguments, code=2)
    assert line in said
    assert len(said.strip().splitlines()) == 1
