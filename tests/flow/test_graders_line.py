"""`code.grader` through the line: files in, rows and scores out, nothing spent and no judge needed."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import groundwire.jobs.demo
from groundwire.jobs.cli import app

CONFIG = """
cap = { usd = 1, per = "day" }

[judges.default]
model = "a-model-without-a-price"
base_url = "http://127.0.0.1:9/v1"
api_key = "made-up"

[sources.local]
platform = "files"
path = "traces/*.json*"
out = "scores.jsonl"

[[evaluators]]
name = "refusals"
source = "local"
metric = "code.grader"
config = { use = "refusal" }
write_label = true
settle = 0

[[evaluators]]
name = "looked-up"
source = "local"
metric = "code.grader"
config = { use = "tool_called", parameters = { tool = "get_order" } }
settle = 0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    traces = tmp_path / "traces"
    traces.mkdir()
    for name in ("grounded.otlp.json", "german.otlp.json"):
        shutil.copy(Path(groundwire.jobs.demo.__file__).with_name(name), traces)
    (tmp_path / "groundwire.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_graders_are_evaluators_like_any_other(folder: Path) -> None:
    for _ in range(2):
        done = CliRunner().invoke(app, ["run", "--once"])
        assert done.exit_code == 0, done.output
    scores = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    found = sorted((score["name"], score["value"]) for score in scores)
    assert found == [
        ("looked-up", 0.0),
        ("looked-up", 1.0),
        ("refusals", 1.0),
        ("refusals", 1.0),
        ("refusals.label", "answered"),
        ("refusals.label", "answered"),
    ]
    comments = [score["comment"] for score in scores if score["name"] == "looked-up"]
    assert any("never called get_order" in comment for comment in comments)


def test_the_doctor_asks_no_calibration_of_them(folder: Path) -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert "evaluator refusals" in done.output
    assert "calibration refusals" not in done.output


def test_a_grader_that_does_not_fit_is_refused_at_load(folder: Path) -> None:
    (folder / "groundwire.toml").write_text(CONFIG.replace('use = "refusal"', 'use = "refusals"'))
    done = CliRunner().invoke(app, ["run", "--once"])
    assert "no grader is called 'refusals'" in f"{done.exception}"
