"""`groundwire score --judge llm` with an endpoint that can't judge: one line that says what to change, at once."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.test_cli_score import ORDER, score, trace
from tests.scorer.openai_server import Fault, JudgeServer

TLS = Path(__file__).parents[1] / "scorer" / "tls"


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(trace("It weighs 2.4 kg.", ORDER, trace_id=f"t{n}")) + "\n" for n in range(3)))
    return path


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    judge = JudgeServer().start()
    yield judge
    judge.stop()


def told(path: Path, url: str, *options: str) -> str:
    """The line for a run that ends before its first trace."""
    config = path.parent / "config.toml"
    config.write_text('[judge]\ntimeout_seconds = 60\napi_key = "wrong"\n\n[config]\ntimeout_seconds = 0.5\n')
    code, rows, line = score(
        path, "--judge", "llm", "--model", "m", "--base-url", url, "--config", str(config), *options
    )
    assert (code, rows) == (2, [])
    assert "\n" not in line.strip()
    return line


@pytest.mark.parametrize(
    ("knob", "value", "said"),
    [
        ("models", {"other"}, "has no model 'm' for this (404); set model to one that it lists"),
        ("key", "right", "refused the key (401); set api_key"),
        (
            "plan",
            lambda _i, _c: Fault(html=True),
            "is no such endpoint (answers 200 with something else); set base_url",
        ),
        ("plan", lambda _i, _c: Fault(html=True, status=404), "is no such endpoint (answers 404"),
        ("plan", lambda _i, _c: Fault(content="I think so, yes."), "m can't answer in JSON"),
        ("plan", lambda _i, _c: Fault(status=500, error="down"), "failed (500)"),
        (
            "plan",
            lambda _i, _c: Fault(status=429, error={"code": "insufficient_quota", "message": "quota"}),
            "is used up (429); add credit",
        ),
    ],
    ids=["unknown model", "wrong key", "HTML", "HTML of a 404", "no JSON", "failing", "no quota"],
)
def test_the_probe_says_what_to_change(server: JudgeServer, traces: Path, knob: str, value: Any, said: str) -> None:
    setattr(server, knob, value)
    assert said in told(traces, server.url)
    assert all(call.form == "probe" for call in server.calls), "no trace was sent"


def test_an_endpoint_that_accepts_and_never_answers(traces: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(5)
        line = told(traces, f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
    assert "gave no answer in 0.5 s; raise timeout_seconds if it is slow" in line


def test_an_endpoint_that_is_not_there(traces: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    assert "can't be reached; check base_url" in told(traces, url)


def test_an_address_that_is_none(traces: Path) -> None:
    assert "base_url: " in told(traces, "localhost:11434")


def test_a_certificate_nobody_knows(traces: Path) -> None:
    server = JudgeServer().start(tls=TLS)
    try:
        assert "no secure connection to 127.0.0.1" in told(traces, server.url)
        assert "set ca_bundle" in told(traces, server.url)
    finally:
        server.stop()


def test_tls_to_a_server_without_it(server: JudgeServer, traces: Path) -> None:
    assert "no secure connection to" in told(traces, server.url.replace("http:", "https:"))


def test_a_model_that_writes_json_in_text_only_is_enough(server: JudgeServer, traces: Path) -> None:
    server.refuses = {"temperature": "temperature", "response_format": "json_schema", "tools": "tools"}
    code, rows, _ = score(traces, "--judge", "llm", "--model", "m", "--base-url", server.url)
    assert (code, [row["score"] for row in rows]) == (0, [1.0] * 3)
    assert rows[0]["judge"]["notes"]["output"] == "text"
