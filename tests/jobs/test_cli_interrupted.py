"""`groundwire score` interrupted with a judge that is paid: what was paid for is written, and nothing more is begun."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.test_cli_score import ORDER, trace
from tests.scorer.openai_server import Call, Fault, JudgeServer

TRACES = 60
PRICED = '[judge]\nprice = { input = 1, output = 4 }\napi_key = "sk-test"\n'


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    judge = JudgeServer(latency=0.1).start()
    yield judge
    judge.stop()


@pytest.fixture
def scoring(server: JudgeServer, tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts `groundwire score` over sixty traces as a user does; whatever still runs afterwards is ended."""
    traces = tmp_path / "traces.jsonl"
    answers = ((f"It weighs 2.4 kg, says note {number}.", f"t{number:02}") for number in range(TRACES))
    traces.write_text("".join(json.dumps(trace(text, ORDER, trace_id=name)) + "\n" for text, name in answers))
    config = tmp_path / "config.toml"
    config.write_text(PRICED)
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> "subprocess.Popen[str]":
        judge = ["--judge", "llm", "--model", "scripted-1", "--base-url", server.url, "--config", str(config)]
        command = [sys.executable, "-m", "groundwire.jobs.cli", "score", str(traces), *judge, "--concurrency", "4"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
        out = ["--out", str(tmp_path / "rows.jsonl"), *options]
        process = subprocess.Popen(
            [*command, *out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def rows_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]


def until(happened: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def asked_about(server: JudgeServer) -> set[str]:
    """The traces whose answers were split by the judge, and so paid for."""
    found = {call.sections["ANSWER"].rpartition("note ")[2].strip(".") for call in list(server.asked("claims"))}
    return {f"t{int(number):02}" for number in found}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_begun_is_finished_and_written(server: JudgeServer, scoring: Any, tmp_path: Path, number: int) -> None:
    process = scoring()
    until(lambda: len(server.calls) >= 12)
    process.send_signal(number)
    out, told = process.communicate(timeout=20)
    rows = rows_in(tmp_path)
    assert process.returncode == 130
    assert 0 < len(rows) < TRACES
    assert {row["status"] for row in rows} == {"scored"}
    assert {row["trace_id"] for row in rows} == asked_about(server)
    assert "under way; Ctrl-C again drops them" in told
    assert "Traceback" not in out + told
    assert f"{sum(row['usage']['calls'] for row in rows)} judge calls, $" in out


def test_a_second_interrupt_drops_what_hangs_and_keeps_what_is_done(
    server: JudgeServer, scoring: Any, tmp_path: Path
) -> None:
    def plan(_index: int, call: Call) -> Fault | None:
        return Fault(hang=True) if "note 2." in call.user else None

    server.plan = plan
    process = scoring()
    until(lambda: len(server.asked("labels")) >= 5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None, "the one that hangs is waited for"
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    names = [row["trace_id"] for row in rows_in(tmp_path)]
    assert process.returncode == 130
    assert "t02" not in names
    assert names[:3] == ["t00", "t01", "t03"], "what stood behind the one that hangs is written too"
    assert set(names) == asked_about(server) - {"t02"}
    assert "Traceback" not in told


def test_a_quota_that_runs_out_keeps_every_row_that_was_finished(
    server: JudgeServer, scoring: Any, tmp_path: Path
) -> None:
    used_up = Fault(status=429, error={"code": "insufficient_quota", "message": "You exceeded your current quota."})
    server.plan = lambda index, _call: used_up if index >= 20 else None
    process = scoring()
    _, told = process.communicate(timeout=30)
    labelled = {call.sections["CLAIMS"].rpartition("note ")[2].strip(".") for call in server.asked("labels")}
    assert process.returncode == 2
    assert {row["trace_id"] for row in rows_in(tmp_path)} == {f"t{int(number):02}" for number in labelled}
    assert len(labelled) > 5
    assert "the quota at 127.0.0.1" in told.splitlines()[-1]
    assert "Traceback" not in told
    assert len(server.calls) < 30, "nothing is begun after it"
