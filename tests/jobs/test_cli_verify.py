"""`groundwire verify` as its user meets it."""

import json
from pathlib import Path

import pytest
from tests.scorer.openai_server import JudgeServer
from typer.testing import CliRunner

from groundwire.jobs.cli import app
from groundwire.scorer import ConfigError

SOURCES = {"refunds": "Refunds are issued within 14 days.", "region": "Data is stored in the EU."}
DRAFT = [
    {"claim": "Refunds take 14 days.", "quote": "within 14 days", "source": "refunds"},
    {"claim": "Data is in the EU.", "quote": "Stored in the EU", "source": "region"},
    {"claim": "Used licenses count.", "quote": "used licenses", "source": "refunds"},
]
HOOK = """
def redraft(failed):
    return {"claim": "Refunds exist.", "quote": "Refunds are issued", "source": "refunds"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sources.json").write_text(json.dumps(SOURCES), encoding="utf-8")
    (tmp_path / "draft.json").write_text(json.dumps(DRAFT), encoding="utf-8")
    (tmp_path / "verify_hooks.py").write_text(HOOK, encoding="utf-8")
    return tmp_path


def verify(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["verify", *arguments])
    if isinstance(done.exception, ConfigError):
        return 2, str(done.exception)
    return done.exit_code, done.stdout


def test_what_is_printed_and_the_exit_code(folder: Path) -> None:
    code, out = verify("draft.json", "--sources", "sources.json")
    assert code == 1
    assert out.splitlines() == [
        "kept 2 of 3 claims",
        "kept: 'Data is in the EU.' -> the quote matches once spelling is normalised",
        "dropped: 'Used licenses count.' -> quote not found in source",
    ]
    (folder / "draft.json").write_text(json.dumps(DRAFT[:2]), encoding="utf-8")
    assert verify("draft.json", "--sources", "sources.json")[0] == 0


def test_json_and_the_ways_out(folder: Path) -> None:
    code, out = verify("draft.json", "--sources", "sources.json", "--json", "--escalate")
    found = json.loads(out)
    assert code == 1
    assert [claim["outcome"] for claim in found["claims"]] == ["kept", "kept", "escalated"]
    code, out = verify("draft.json", "--sources", "sources.json", "--json", "--retry", "verify_hooks:redraft")
    assert code == 0
    assert json.loads(out)["claims"][2]["retried"] is True
    code, out = verify("draft.json", "--sources", "sources.json", "--json", "--judge", "offline")
    assert json.loads(out)["judge"]["kind"] == "offline"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.json", "--sources", "sources.json"], "nowhere.json: No such file"),
        (["draft.json", "--sources", "verify_hooks.py"], "not valid JSON, line"),
        (["sources.json", "--sources", "sources.json"], "draft: expected"),
        (["draft.json", "--sources", "draft.json"], "sources: expected"),
        (["draft.json", "--sources", "sources.json", "--model", "m"], "add --judge llm"),
        (["draft.json", "--sources", "sources.json", "--judge", "oracle"], "--judge"),
        (["draft.json", "--sources", "sources.json", "--judge", "offline", "--model", "m"], "for --judge llm"),
        (["draft.json", "--sources", "sources.json", "--judge", "llm", "--config", "no.toml"], "no.toml: No such file"),
        (["draft.json", "--sources", "sources.json", "--judge", "llm", "--config", "draft.json"], "expected a table"),
        (["draft.json", "--sources", "sources.json", "--retry", "verify_hooks"], "module:function"),
        (["draft.json", "--sources", "sources.json", "--retry", "verify_hooks:none"], "has no none"),
        (["draft.json", "--sources", "sources.json", "--retry", "not_there:x"], "can't be imported"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: list[str], says: str) -> None:
    code, line = verify(*arguments)
    assert code == 2
    assert says in line
    assert "\n" not in line


def test_a_model_is_asked_about_what_the_code_checks_keep(folder: Path) -> None:
    server = JudgeServer().start()
    options = ("--json", "--judge", "llm", "--model", "gpt-5-mini", "--base-url", server.url)
    try:
        code, out = verify("draft.json", "--sources", "sources.json", *options)
        asked = len(server.calls)
        unknown = verify("draft.json", "--sources", "sources.json", *options, "--max-usd", "1")
        (folder / "judge.toml").write_text("[judge]\nprice = { input = 1, output = 1 }\n")
        priced = ("--max-usd", "1", "--config", "judge.toml")
        capped, paid = verify("draft.json", "--sources", "sources.json", *options, *priced)
    finally:
        server.stop()
    found = json.loads(out)
    assert (code, capped) == (1, 1)
    assert [claim["label"] is not None for claim in found["claims"]] == [True, True, False]
    assert found["usage"]["calls"] == 2
    assert asked >= 2
    assert found["judge"]["model"] == "gpt-5-mini"
    assert unknown[0] == 2
    assert "no price is known for 'gpt-5-mini'" in unknown[1]
    assert json.loads(paid)["usage"]["micro_dollars"] > 0
