"""Suites run as their user runs them: the example to the digit, targets that fail, bad input in one line."""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.scorer.openai_server import Fault, JudgeServer
from typer.testing import CliRunner

from groundwire.jobs.cli import app
from groundwire.scorer import ConfigError, GroundwireError

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "suite"

AGENTS = '''
import asyncio
import threading
import time
from dataclasses import dataclass

active = most = 0
lock = threading.Lock()


def echo(text):
    return text


async def later(text, *, trial):
    await asyncio.sleep(0.01)
    return {"answer": f"{text} {trial}"}


def crashes(text, *, trial, case):
    if case.id == "b" and trial == 1:
        raise ValueError("PRIVATE")
    return text


def leaves(text, *, trial):
    if trial == 1:
        raise SystemExit(3)
    return text


def hangs(text, *, trial):
    if text == "b" and trial == 0:
        time.sleep(60)
    return text


async def blocks(text, *, trial):
    if text == "b" and trial == 0:
        time.sleep(60)
    await asyncio.sleep(0.001)
    return text


async def deaf(text, *, trial):
    while text == "b":
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
    return text


def counted(text):
    global active, most
    with lock:
        active += 1
        most = max(most, active)
    time.sleep(0.02)
    with lock:
        active -= 1
    return text


@dataclass
class Answer:
    answer: str
    cites: tuple = ("doc",)


def typed(text):
    return Answer(text)


def odd(text):
    return {"a": 42, "b": None, "c": {"latency_s": float("nan"), "text": "c"}}[text]


def strict(sample, *, least: int):
    """A grader."""
    return len(sample.answer) >= least


def broken(sample):
    raise KeyError("PRIVATE")


async def judge(sample):
    return 0.25


def sleepy(sample):
    time.sleep(60)


def angry(sample):
    raise ValueError("PRIVATE")


def nan(sample):
    return float("nan")
'''
SUITE = """
name = "small"
target = "suite_agents:echo"
trials = 2
timeout = "300ms"
"""
CASES = [{"id": name, "input": name, "expect": name} for name in "abc"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite_agents.py").write_text(AGENTS, encoding="utf-8")
    write(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    import sys

    yield
    for name in ("suite_agents", "agents"):
        sys.modules.pop(name, None)
    sys.path[:] = [place for place in sys.path if "pytest-" not in place]


def write(folder: Path, more: str = "", cases: Any = CASES) -> None:
    (folder / "suite.toml").write_text(SUITE + textwrap.dedent(more), encoding="utf-8")
    lines = [json.dumps(case) if isinstance(case, dict) else case for case in cases]
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def invoke(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(arguments))
    if isinstance(done.exception, ConfigError):
        return 2, "", str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def run(*arguments: str) -> tuple[int, Any, str]:
    code, out, err = invoke("suite", "suite.toml", "--json", *arguments)
    return code, json.loads(out) if out else None, err


def failed(found: Any) -> list[tuple[str, int, str]]:
    return [(row["case"], row["trial"], row["explanation"]) for row in found["rows"] if row["passed"] is None]


def test_the_example_prints_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    suite = str(EXAMPLE / "suite.toml")
    code, out, _ = invoke("suite", suite, "--out", "v1.json")
    assert code == 0
    figures = "5 regression 100% [57–100] 100% [57–100] 100% [57–100] 0.85 s 0.95 s $0.00111 0"
    assert " ".join(out.splitlines()[2].split()) == figures
    labels = str(EXAMPLE / "labels.jsonl")
    code, out, _ = invoke("suite", suite, "--target", "agents:v2", "--labels", labels, "--out", "v2.json")
    assert code == 0
    line = out.splitlines()[2]
    for figure in ("70%", "80%", "60%", "1.45 s", "1.55 s", "$0.00178"):
        assert figure in line
    assert "agreement 80%, kappa 0.55" in out
    assert "the judge passed what people failed: q3" in out
    code, out, _ = invoke("gate", "v1.json", "v2.json", "--config", str(EXAMPLE / "gate.toml"))
    assert code == 1
    assert out.splitlines() == [
        "BLOCKED: agents:v2 against agents:v1",
        "  BLOCK   pass rate fell from 100% to 70% (tolerance 2 points)",
        "  BLOCK   pass^4 fell from 100% to 60%",
        "  BLOCK   answered what must be refused: q4",
        "  pass    0 of 20 trials gave nothing to grade (allowed: 0)",
    ]


def test_rows_stand_in_the_order_of_the_cases(folder: Path) -> None:
    code, found, _ = run()
    assert code == 0
    assert [(row["case"], row["trial"]) for row in found["rows"]] == [(case, n) for case in "abc" for n in (0, 1)]
    assert found["summary"]["regression"]["pass_hat_k"]["value"] == 1.0
    assert found["rows"][0]["latency_seconds"] > 0
    assert run("--target", "suite_agents:later")[1]["rows"][1]["answer"] == "a 1"
    assert run("--target", "suite_agents:typed")[1]["rows"][0]["citations"] == ["doc"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("crashes", [("b", 1, "raised ValueError at suite_agents.py:22")]),
        ("leaves", [(case, 1, "raised SystemExit at suite_agents.py:28") for case in "abc"]),
        ("hangs", [("b", 0, "gave nothing within 0.3 s")]),
    ],
)
def test_a_target_that_fails_costs_its_trial_and_the_others_go_on(
    folder: Path, target: str, expected: list[tuple[str, int, str]]
) -> None:
    code, found, _ = run("--target", f"suite_agents:{target}", "--out", "results.json")
    assert code == 1
    assert failed(found) == expected
    assert sum(row["passed"] is True for row in found["rows"]) == 6 - len(expected)
    assert {row["reason"] for row in found["rows"] if row["passed"] is None} == {"target_error"}
    assert found["summary"]["regression"]["errors"] == len(expected)
    assert "PRIVATE" not in json.dumps(found)
    assert json.loads((folder / "results.json").read_text())["rows"] == found["rows"]


def test_async_targets_that_block_or_will_not_be_cancelled(folder: Path) -> None:
    write(folder, "concurrency = 1")
    code, found, _ = run("--target", "suite_agents:blocks")
    assert failed(found) == [("b", 0, "gave nothing within 0.3 s")]
    code, found, _ = run("--target", "suite_agents:deaf")
    assert code == 1
    assert [one[:2] for one in failed(found)] == [("b", 0), ("b", 1)]


def test_what_a_target_gives_that_is_no_answer(folder: Path) -> None:
    _, _, err = invoke("suite", "suite.toml", "--target", "suite_agents:odd", "--trials", "1")
    assert err.splitlines() == [
        "groundwire: a trial 0: target_error: gave int, not a text or an object with an answer",
        "groundwire: b trial 0: target_error: gave NoneType, not a text or an object with an answer",
        "groundwire: c trial 0: target_error: gave a latency_s that is no number ≥ 0",
    ]


def test_no_more_than_concurrency_are_under_way(folder: Path) -> None:
    import sys

    write(folder, "concurrency = 2", [{"id": str(n), "input": "x", "expect": "x"} for n in range(10)])
    assert run("--target", "suite_agents:counted")[0] == 0
    assert sys.modules["suite_agents"].most == 2


def test_graders_of_the_suite_and_of_the_users_own(folder: Path) -> None:
    write(
        folder,
        """
        [[graders]]
        use = "answer_match"
        mode = "regex"
        expect = "^[ab]$"
        kinds = ["normal"]
        [[graders]]
        use = "suite_agents:strict"
        name = "long enough"
        least = 1
        """,
    )
    code, found, _ = run()
    assert code == 0
    assert [row["passed"] for row in found["rows"]] == [True, True, True, True, False, False]
    assert [grade["grader"] for grade in found["rows"][0]["grades"]] == ["answer_match", "long enough"]
    write(folder, '[[graders]]\nuse = "suite_agents:broken"')
    code, found, _ = run()
    assert code == 1
    assert failed(found)[0] == ("a", 0, "broken raised KeyError")
    assert "PRIVATE" not in json.dumps(found)


def test_a_schema_stands_in_a_file_beside_the_suite(folder: Path) -> None:
    grader = '[[graders]]\nuse = "schema_valid"\nschema = "answer.schema.json"'
    write(folder, grader, [{"id": "a", "input": '{"total": 1}'}, {"id": "b", "input": "{}"}])
    assert "answer.schema.json: No such file" in invoke("suite", "suite.toml")[2]
    prints = []
    for schema in ({"required": ["total"]}, {"type": "object"}):
        (folder / "answer.schema.json").write_text(json.dumps(schema))
        _, found, _ = run("--trials", "1")
        prints.append(([row["passed"] for row in found["rows"]], found["fingerprint"]))
    assert [passed for passed, _ in prints] == [[True, False], [True, True]]
    assert prints[0][1] != prints[1][1]


def test_a_judge_of_the_users_own(folder: Path) -> None:
    write(folder, '[judge]\nuse = "suite_agents:judge"')
    _, found, _ = run()
    assert {row["judge"]["score"] for row in found["rows"]} == {0.25}
    assert found["summary"]["regression"]["judge_score"]["value"] == 0.25
    first = found["fingerprint"]
    write(folder, '[judge]\nuse = "suite_agents:nan"')
    _, found, _ = run()
    assert {row["judge"]["score"] for row in found["rows"]} == {None}
    assert found["rows"][0]["judge"]["reason"] == "gave no score in [0, 1]"
    assert found["fingerprint"] != first


@pytest.mark.parametrize(
    ("judge", "reason"),
    [("sleepy", "gave nothing within 0.3 s"), ("angry", "raised ValueError at suite_agents.py:")],
)
def test_a_judge_that_fails_gives_no_score_and_the_grades_stand(folder: Path, judge: str, reason: str) -> None:
    write(folder, f'[judge]\nuse = "suite_agents:{judge}"')
    code, found, _ = run()
    assert code == 0
    assert {row["judge"]["score"] for row in found["rows"]} == {None}
    assert found["rows"][0]["judge"]["reason"].startswith(reason)
    assert found["summary"]["regression"]["judge_score"] is None
    assert "PRIVATE" not in json.dumps(found)


def test_the_offline_judge_scores_answers_against_their_sources(folder: Path) -> None:
    cases = [
        {"id": "a", "input": "How long?", "expect": "14 days", "sources": {"doc": "Refunds take 14 days."}},
        {"id": "b", "input": "How long?", "expect": "30 days", "sources": {"doc": "Refunds take 14 days."}},
    ]
    write(folder, '[judge]\nkind = "offline"', cases)
    (folder / "out.jsonl").write_text(
        '{"id": "a", "answer": "Refunds take 14 days."}\n{"id": "b", "answer": "Refunds take 30 days."}\n'
    )
    _, found, _ = run("--recorded", "out.jsonl", "--trials", "1")
    assert [row["judge"]["score"] for row in found["rows"]] == [1.0, 0.0]
    assert [row["passed"] for row in found["rows"]] == [True, True]


def test_trials_are_judged_past_every_cache(folder: Path) -> None:
    server = JudgeServer().start()
    write(
        folder,
        f"""
        [judge]
        kind = "llm"
        model = "judge"
        base_url = "{server.url}"
        price = {{ input = 1, output = 1 }}
        """,
        [{"id": "a", "input": "How long?", "expect": "14", "sources": {"doc": "Refunds take 14 days."}}],
    )
    (folder / "out.jsonl").write_text('{"id": "a", "answer": "Refunds take 14 days."}\n' * 3)
    try:
        _, found, _ = run("--recorded", "out.jsonl", "--trials", "3", "--max-usd", "1")
    finally:
        server.stop()
    judged = [row["judge"] for row in found["rows"]]
    assert [one["score"] for one in judged] == [1.0] * 3
    assert [one["usage"]["cache_hits"] for one in judged] == [0] * 3
    assert len({one["usage"]["calls"] for one in judged}) == 1
    assert judged[0]["usage"]["calls"] >= 2
    assert found["summary"]["regression"]["judge_usage"]["micro_dollars"] > 0
    assert found["summary"]["regression"]["usage"]["micro_dollars"] == 0


def test_a_judge_that_is_lost_ends_the_run_in_one_line(folder: Path) -> None:
    server = JudgeServer().start()
    usual = server.plan
    refused = Fault(status=401, error={"message": "bad key"})
    server.plan = lambda index, call: refused if index else usual(index, call)  # the probe is the first call
    judge = f'[judge]\nkind = "llm"\nmodel = "judge"\nbase_url = "{server.url}"'
    write(folder, judge, [{**CASES[0], "sources": {"doc": "a"}}])
    try:
        done = CliRunner().invoke(app, ["suite", "suite.toml", "--out", "results.json"])
    finally:
        server.stop()
    assert isinstance(done.exception, GroundwireError)
    assert "\n" not in str(done.exception)
    assert not (folder / "results.json").exists()


def test_recorded_outputs_with_their_own_cost(folder: Path) -> None:
    usage = {"prompt_tokens": 1_000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 500}}
    lines = [
        {"id": "a", "answer": "a", "usage": usage, "latency_seconds": 1},
        {"id": "b", "answer": "b", "cost_usd": 0.001},
        {"id": "c", "error": "boom"},
    ]
    (folder / "out.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    write(folder, "price = { input = 2, cached_input = 1, output = 10 }")
    code, found, _ = run("--recorded", "out.jsonl", "--trials", "1")
    assert code == 1
    assert [row["micro_dollars"] for row in found["rows"]] == [2_500, 1_000, None]
    assert found["summary"]["regression"]["micro_dollars_per_task"] == 1_750
    assert found["rows"][2]["reason"] == "target_error"
    assert found["target"] == "out.jsonl"


def test_junit(folder: Path) -> None:
    write(folder, cases=[*CASES, {"id": "d\u0001", "input": "x", "expect": "<y>"}])
    assert invoke("suite", "suite.toml", "--target", "suite_agents:crashes", "--junit", "out.xml")[0] == 1
    suite = ET.parse(folder / "out.xml").getroot()[0]  # noqa: S314 - our own document
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("8", "2", "1")
    by_name = {case.get("name"): case for case in suite}
    assert by_name["b trial 1"][0].tag == "error"
    assert by_name["d\ufffd trial 0"][0].get("message") == "answer_match: the answer doesn't contain '<y>'"


def test_capability_cases_are_apart_and_graduate(folder: Path) -> None:
    cases = [
        CASES[0],
        '{"id": "b",  "input": "b", "expect": "b", "purpose": "capability"}',
        {**CASES[2], "expect": "z"},
    ]
    write(folder, cases=cases)
    _, found, _ = run("--out", "results.json")
    assert {name: summary["pass_rate"]["cases"] for name, summary in found["summary"].items()} == {
        "regression": 2,
        "capability": 1,
    }
    before = (folder / "cases.jsonl").read_text().splitlines()
    assert invoke("graduate", "suite.toml", "b", "--results", "results.json")[0] == 0
    after = (folder / "cases.jsonl").read_text().splitlines()
    assert (after[0], after[2]) == (before[0], before[2])
    assert json.loads(after[1]) == {**json.loads(before[1]), "purpose": "regression"}
    assert invoke("gate", "results.json", "results.json")[0] == 0
    assert invoke("graduate", "suite.toml", "b") == (2, "", "cases.jsonl: 'b' is a regression case already")
    assert "no case 'q'" in invoke("graduate", "suite.toml", "q")[2]


def test_a_case_that_failed_a_trial_does_not_graduate(folder: Path) -> None:
    write(folder, cases=[{**CASES[0], "expect": "never", "purpose": "capability"}])
    run("--out", "results.json")
    before = (folder / "cases.jsonl").read_bytes()
    assert "passed 0 of 2 trials" in invoke("graduate", "suite.toml", "a", "--results", "results.json")[2]
    write(folder, cases=[{**CASES[0], "purpose": "capability"}])
    assert "as it is now" in invoke("graduate", "suite.toml", "a", "--results", "results.json")[2]
    assert before != (folder / "cases.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("more", "cases", "says"),
    [
        ("", [], "cases.jsonl: there are no cases"),
        ("", ["{"], "cases.jsonl line 1: not valid JSON"),
        ("", ["[1]"], "cases.jsonl line 1: expected an object"),
        ("", ['{"id": "a", "input": NaN, "expect": "x"}'], "NaN is no number"),
        ("", [{"id": "a"}], "cases.jsonl line 1: input: Field required"),
        ("", [CASES[0], {**CASES[1], "excpet": "x"}], "line 2: excpet: no such key; did you mean 'expect'?"),
        ("", [CASES[0], CASES[0]], "line 2: 'a' stands on line 1 already"),
        ("", [{"id": "a", "input": "x"}], "(a): has no `expect`, which answer_match compares the answer with"),
        ("", [{**CASES[0], "cite": "nowhere"}], "line 1 (a): there is no source 'nowhere'"),
        ("", [{**CASES[0], "sources": ["nowhere"]}], "line 1 (a): there is no source 'nowhere'"),
        ("", [{**CASES[0], "kind": "odd"}], "line 1: kind"),
        ("trails = 3", CASES, "suite.toml: trails: no such key; did you mean 'trials'?"),
        ("k = 3", CASES, "k = 3 needs at least 3 trials, not 2"),
        ('sources = "nowhere.json"', CASES, "nowhere.json: No such file"),
        ("name = 1", CASES, "not valid TOML"),
        ('[[graders]]\nuse = "guess"', CASES, "no grader is called 'guess'"),
        ('[[graders]]\nuse = "cost_under"', CASES, "cost_under: usd"),
        ('[[graders]]\nuse = "suite_agents:nothing"', CASES, "has no nothing"),
        ('[[graders]]\nuse = "refusal"\nkinds = ["must_refuse"]', CASES, "(a): no grader applies to a normal case"),
        ('[[graders]]\nuse = "answer_match"\nmode = "regex"', [{**CASES[0], "expect": "("}], "no regular expression"),
        ('[judge]\nkind = "oracle"', CASES, "judge"),
        ('[judge]\nuse = "suite_agents:judge"\nmodel = "x"', CASES, "takes no further keys"),
        ('[judge]\nkind = "llm"\nmodel = "x"', CASES, "no API key"),
    ],
)
def test_bad_input_is_one_line(folder: Path, more: str, cases: Any, says: str) -> None:
    write(folder, more, cases)
    code, _, line = invoke("suite", "suite.toml", "--out", "results.json")
    assert code == 2
    assert says in line
    assert "\n" not in line
    assert not (folder / "results.json").exists()


@pytest.mark.parametrize(
    ("arguments", "recorded", "says"),
    [
        (["--target", "suite_agents:nothing"], "", "has no nothing"),
        (["--target", "suite_agents"], "", "package.module:function"),
        (["--target", "suite_agents:lock", "--recorded", "out.jsonl"], "", "not both"),
        (["--recorded", "nowhere.jsonl"], "", "No such file"),
        (["--recorded", "out.jsonl"], '{"id": "a", "answer": "a"}', "'a' has no trial 1 (trials = 2, from 0)"),
        (["--recorded", "out.jsonl"], '{"id": "z", "answer": "a"}', "the suite has no case 'z'"),
        (["--recorded", "out.jsonl"], '{"answer": "a"}', "line 1: no id"),
        (["--recorded", "out.jsonl"], '{"id": "a"}', "line 1: gave no answer"),
        (["--recorded", "out.jsonl"], '{"id": "a", "answer": "a", "latency_s": NaN}', "NaN is no number"),
        (["--recorded", "out.jsonl"], '{"id": "a", "answer": "a", "trial": 0}\n' * 2, "has a trial 0 already"),
        (["--recorded", "out.jsonl"], '{"id": "a", "answer": "a", "usage": {}}', "tokens can't be read"),
        (["--labels", "out.jsonl"], '{"id": "a", "trial": 9, "label": "pass"}', "no trial 9 of 'a'"),
        (["--labels", "out.jsonl"], '{"id": "a", "trial": 0, "label": "good"}', "with pass or fail"),
        (["--labels", "out.jsonl"], '{"id": "a", "trial": 0, "label": 1}', "no labelled trial has a judge's score"),
        (["--labels", "out.jsonl"], "", "there are no labels"),
        (["--out", "no/folder.json"], "", "no is no folder"),
    ],
)
def test_bad_arguments_are_one_line(folder: Path, arguments: list[str], recorded: str, says: str) -> None:
    (folder / "out.jsonl").write_text(recorded, encoding="utf-8")
    code, _, line = invoke("suite", "suite.toml", "--junit", "out.xml", *arguments)
    assert code == 2
    assert says in line
    assert "\n" not in line
    assert not (folder / "out.xml").exists()
