"""`groundwire gate` on files: the verdict, the override and its record, Markdown, results that are no results."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from groundwire.jobs.cli import app
from groundwire.scorer import ConfigError


def results(*passes: bool, target: str = "t", **fields: Any) -> dict[str, Any]:
    rows = [
        {
            "case": f"c{number}",
            "case_version": "1",
            "kind": "normal",
            "purpose": "regression",
            "trial": 0,
            "status": "scored",
            "passed": passed,
            "latency_seconds": 1.0,
        }
        for number, passed in enumerate(passes)
    ]
    return {
        "schema": "groundwire_suite_v1",
        "suite": "s",
        "version": "1",
        "target": target,
        "fingerprint": "f",
        "cases": {row["case"]: "d" for row in rows},
        "trials": 1,
        "k": 1,
        "groundwire_version": "0.1.0",
        "started_at": "2026-12-01T00:00:00Z",
        "rows": rows,
        **fields,
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.json").write_text(json.dumps(results(True, True, target="v1")))
    (tmp_path / "bad.json").write_text(json.dumps(results(True, False, target="v2")))
    return tmp_path


def gate(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["gate", *arguments])
    if isinstance(done.exception, ConfigError):
        return 2, str(done.exception)
    return done.exit_code, done.stdout


def test_the_verdict_is_the_exit_code(folder: Path) -> None:
    assert gate("good.json", "good.json")[0] == 0
    code, out = gate("good.json", "bad.json", "--json")
    found = json.loads(out)
    assert code == 1
    assert (found["verdict"], found["override"]) == ("block", None)
    assert [check["outcome"] for check in found["checks"]] == ["block", "block", "pass"]


def test_rules_of_a_file(folder: Path) -> None:
    (folder / "gate.toml").write_text("pass_rate = { tolerance = 0.5 }\npass_hat_k = false\n")
    assert gate("good.json", "bad.json", "--config", "gate.toml")[0] == 0


def test_an_override_names_who_and_why_and_is_recorded(folder: Path) -> None:
    why = ("--override", "rollback of an outage", "--by", "Ada")
    code, out = gate("good.json", "bad.json", "--markdown", "summary.md", *why)
    assert code == 0
    assert out.splitlines()[-1] == "overridden by Ada: rollback of an outage"
    record = json.loads((folder / "gate-overrides.jsonl").read_text())
    assert (record["by"], record["why"], record["candidate"]) == ("Ada", "rollback of an outage", "v2")
    assert record["blocked"][0] == "pass rate fell from 100% to 50% (tolerance 2 points)"
    assert "**Overridden** by Ada at " in (folder / "summary.md").read_text()
    gate("good.json", "bad.json", *why, "--record", "gate-overrides.jsonl")
    assert len((folder / "gate-overrides.jsonl").read_text().splitlines()) == 2


def test_nothing_is_recorded_where_nothing_is_blocked(folder: Path) -> None:
    assert gate("good.json", "good.json", "--override", "why", "--by", "Ada")[0] == 0
    assert not (folder / "gate-overrides.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--override", "why"], "--override REASON --by NAME"),
        (["--override", "why", "--by", " "], "--override REASON --by NAME"),
        (["--by", "Ada"], "--override REASON --by NAME"),
        (["--override", "why", "--by", "Ada", "--record", "no/record.jsonl"], "nothing was overridden"),
        (["--config", "nowhere.toml"], "nowhere.toml: No such file"),
        (["--config", "good.json"], "not valid TOML"),
        (["--config", "odd.toml"], "odd.toml: pass_rat: no such key; did you mean 'pass_rate'?"),
        (["--markdown", "no/summary.md", "--override", "why", "--by", "Ada"], "no is no folder"),
    ],
)
def test_bad_arguments_are_one_line_and_never_ship(folder: Path, arguments: list[str], says: str) -> None:
    (folder / "odd.toml").write_text("pass_rat = false")
    code, line = gate("good.json", "bad.json", *arguments)
    assert code == 2
    assert says in line
    assert "\n" not in line
    assert not (folder / "gate-overrides.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not valid JSON"),
        ("[]", "no results of `groundwire suite --out`"),
        ('{"schema": "else"}', "no results of `groundwire suite --out`"),
        (json.dumps(results(True, True, k=0)), "k: "),
        (json.dumps(results(True, True)).replace("1.0}", "NaN}", 1), "holds NaN where a number belongs"),
        (json.dumps(results(True, True)).replace("1.0}", "1e999}", 1), "latency_seconds"),
        (json.dumps({**results(True, True), "rows": results(True)["rows"]}), "has 1 rows, not one for every trial"),
        (json.dumps(results(True, True, version="2")), "different versions of the suite (1 and 2)"),
        (json.dumps(results(True, True, True)), "different cases (candidate only: c2)"),
        (json.dumps(results(True, True, fingerprint="g")), "graded or judged differently"),
        (json.dumps(results()), "different cases"),
    ],
)
def test_results_that_can_not_be_compared_are_one_line(folder: Path, text: str, says: str) -> None:
    (folder / "candidate.json").write_text(text)
    code, line = gate("good.json", "candidate.json", "--markdown", "summary.md")
    assert code == 2
    assert says in line
    assert "\n" not in line
    assert not (folder / "summary.md").exists()
