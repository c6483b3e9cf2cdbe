"""`groundwire attach` as its user meets it: the rule as steps and as a body, and one line where it can't be."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groundwire.jobs.cli import app, main
from groundwire.scorer import ConfigError

BASE = """
[sources.prod]
platform = "langsmith"
api_key  = "lsv2_pt_secret_of_langsmith"
project  = "support"

[sources.files]
platform = "files"
path     = "x.jsonl"

[[evaluators]]
name   = "support (grounded)"
source = "prod"
sample = 0.1
where  = { tags = ["prod"] }
%s

[[evaluators]]
name   = "local"
source = "files"

[service]
token       = "token-token-token-token"
hook_secret = "secret-secret-secret-secret"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "groundwire.toml"
    path.write_text(BASE % 'attach = "webhook"')
    return path


def printed(config: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["attach", *arguments, "--config", str(config)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "secret-secret" not in done.output
    assert "token-token" not in done.output
    assert "secret_of_langsmith" not in done.output
    return done.output


def test_steps_and_body_of_a_webhook(config: Path) -> None:
    text = printed(config, "langsmith", "support (grounded)", "--url", "https://gw.example.com/")
    assert "URL: https://gw.example.com/hooks/langsmith/support%20%28grounded%29" in text
    assert "Header: Authorization: Bearer $GROUNDWIRE_HOOK_SECRET" in text
    assert "Sampling rate: 100 %" in text
    assert "Extend data retention: off" in text
    assert 'has(tags, "prod")' in text
    assert "POST /api/v1/runs/rules" in text
    assert "The secret is the value of service.hook_secret" in text
    body = json.loads(printed(config, "langsmith", "support (grounded)", "--body"))
    assert body["extend_webhook_trace_retention"] is False
    assert body["webhooks"][0]["url"].startswith("http://127.0.0.1:8700/hooks/langsmith/")


def test_what_the_configuration_lacks_is_said(config: Path) -> None:
    text = printed(config, "langsmith", "support (grounded)", "--as", "decision", "--url", "https://gw.example.com")
    assert "Base URL: https://gw.example.com" in text
    assert "POST /api/v1/runs/rules/decision-models" in text
    assert 'Set attach = "decision" on the evaluator' in text
    config.write_text((BASE % "").replace("hook_secret", "# hook_secret"))
    text = printed(config, "langsmith", "support (grounded)")
    assert 'Set attach = "webhook" on the evaluator' in text
    assert 'Set service.hook_secret = "${GROUNDWIRE_HOOK_SECRET}"' in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("langsmith", "none"), "no evaluator is called 'none'"),
        (("langfuse", "support (grounded)"), "reads prod, which is langsmith and not langfuse"),
        (("langsmith", "local"), "reads files, which is files and not langsmith"),
        (("files", "local"), "files calls no evaluator"),
        (("langsmith", "support (grounded)", "--url", "gw.example.com"), "--url gw.example.com is no address"),
        (("langsmith", "support (grounded)", "--as", "poll"), "neither webhook nor decision"),
    ],
)
def test_what_cannot_be_attached_is_one_line(arguments: tuple[str, ...], says: str, config: Path) -> None:
    done = CliRunner().invoke(app, ["attach", *arguments, "--config", str(config)])
    assert isinstance(done.exception, ConfigError)
    assert says in str(done.exception)


def test_serve_refuses_to_start_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "groundwire.toml"
    config.write_text(f'[state]\nurl = "sqlite:///{tmp_path / "state.db"}"\n')
    monkeypatch.setattr("sys.argv", ["groundwire", "serve", "--config", str(config)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert 'set service.token = "${GROUNDWIRE_TOKEN}"' in capsys.readouterr().err
