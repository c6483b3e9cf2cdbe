"""groundwire as processes of their own: two at one state, and one that is told to stop."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.flow.unattended import NAME, expected
from tests.scorer.openai_server import JudgeServer

from groundwire.connectors.testing import FakePlatform, Sample, make_samples

TRACES = 12


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    server = JudgeServer(latency=0.15).start()
    yield server
    server.stop()


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[FakePlatform]:
    platform = FakePlatform(tmp_path / "platform.db")
    yield platform
    platform.close()


def put(platform: FakePlatform) -> list[Sample]:
    found = list(make_samples(TRACES, seed=4, invalid=0, first_end=datetime.now(UTC) - timedelta(minutes=10)))
    platform.put_all(sample.trace for sample in found)
    return found


def start(
    folder: Path, server: JudgeServer, *more: str, state: str | None = None, usd: float = 10
) -> "subprocess.Popen[str]":
    config = folder / "groundwire.toml"
    state = state or f"sqlite:///{folder / 'state.db'}"
    config.write_text(
        f"""
[judges.default]
kind = "llm"
model = "m"
base_url = "{server.url}"
api_key = "{"k" * 20}"
price = {{ input = 20.0, output = 20.0 }}
max_output_tokens = 300

[sources.prod]
platform = "groundwire.connectors.testing:fake"
path = "{folder / "platform.db"}"

[[evaluators]]
name = "{NAME}"
source = "prod"
settle = 0
every = "1s"
cap = {{ usd = {usd}, per = "day" }}

[state]
url = "{state}"
"""
    )
    command = [sys.executable, "-m", "groundwire.jobs.cli", "run", "--config", str(config), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finished(process: "subprocess.Popen[str]", *, within: float = 60) -> str:
    printed, _ = process.communicate(timeout=within)
    assert process.returncode == 0, printed
    return printed


def shown(platform: FakePlatform) -> dict[str, Any]:
    scores = platform.scores()
    assert all(score.writes == 1 for score in scores)
    return {score.trace_id: score.value for score in scores}


def test_two_at_one_state_share_the_work_and_pay_once(
    tmp_path: Path, server: JudgeServer, platform: FakePlatform
) -> None:
    found = put(platform)
    both = [start(tmp_path, server, "--once") for _ in range(2)]
    for process in both:
        finished(process)
    finished(start(tmp_path, server, "--once"))
    assert shown(platform) == expected(found)
    assert len(server.calls) == 2 * TRACES, "a trace takes two calls, whoever makes them"


def test_told_to_stop_it_ends_what_is_under_way_and_leaves_the_rest_for_the_next(
    tmp_path: Path, server: JudgeServer, platform: FakePlatform
) -> None:
    found = put(platform)
    process = start(tmp_path, server)
    until = time.monotonic() + 30
    while not server.calls and time.monotonic() < until:
        time.sleep(0.02)
    assert server.calls
    process.send_signal(signal.SIGTERM)
    finished(process, within=30)
    finished(start(tmp_path, server, "--once"))
    assert shown(platform) == expected(found)
    assert len(server.calls) == 2 * TRACES


@pytest.mark.postgres
def test_four_on_postgresql_under_one_cap_that_they_use_up_and_never_pass(
    tmp_path: Path, server: JudgeServer, platform: FakePlatform, postgres_url: str
) -> None:
    cap = 1.5
    found = list(make_samples(80, seed=4, invalid=0, first_end=datetime.now(UTC) - timedelta(minutes=10)))
    platform.put_all(sample.trace for sample in found)
    four = [start(tmp_path, server, "--once", state=postgres_url, usd=cap) for _ in range(4)]
    for process in four:
        finished(process)
    billed = sum(20 * (call.prompt_tokens + call.completion_tokens) for call in server.calls) / 1e6
    assert 0.95 * cap <= billed <= cap
