"""The pages on verifying, graders, suites and gates: every block runs, and what they print is what is printed."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from langfuse import Langfuse, RegressionError, RunnerContext
from typer.testing import CliRunner

from groundwire.jobs.cli import app
from groundwire.jobs.settings import load_settings
from groundwire.jobs.suite import SuiteSpec, load_suite
from groundwire.scorer import Case, GateConfig, OfflineJudge, build_metric, read_draft

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"verify": "verify", "graders": "suite", "suites": "suite", "gate": "suite"}
"""Each page with the folder of its examples."""


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    name = request.param if hasattr(request, "param") else "suite"
    shutil.copytree(DOCS / "examples" / name, tmp_path / "example")
    monkeypatch.chdir(tmp_path / "example")
    places = list(sys.path)
    yield tmp_path / "example"
    sys.path[:] = places
    sys.modules.pop("agents", None)


def run(command: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout


@pytest.mark.parametrize(("page", "folder"), PAGES.items(), indirect=["folder"])
def test_what_commands_print(page: str, folder: Path) -> None:
    found = blocks(page, "console")
    for block in found:
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            _, printed = run(command)
            lines = [" ".join(line.split()) for line in printed.splitlines()]
            for number, line in enumerate(shown.splitlines()):
                if line == "…":
                    break
                assert lines[number] == " ".join(line.split()), command
            else:
                assert len(lines) == len(shown.splitlines()), command
    assert bool(found) is (page != "graders")


@pytest.mark.parametrize("page", ["verify", "graders"])
def test_python_runs(page: str, tmp_path: Path) -> None:
    outputs = []
    for code in blocks(page, "python"):
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-500:]
        outputs.append(done.stdout.splitlines())
    expected = {
        "verify": [["30 days not in the quote", "[('Refunds take 14 days.', 'kept', True)]"]],
        "graders": [
            ["refused", "refused", "partial", "answered"],
            ["Grade(passed=False, reason='21 characters', label=None)"],
        ],
    }
    assert outputs == expected[page]


def test_files_that_the_pages_show_are_those_in_the_examples() -> None:
    example = DOCS / "examples" / "suite"
    shown = [*blocks("gate", "yaml"), *blocks("gate", "python")]
    assert shown == [(example / name).read_text("utf-8") for name in ("gate.yml", "experiment.py", "test_support.py")]


def test_toml_and_json_are_read(tmp_path: Path) -> None:
    first, graders = blocks("suites", "toml")
    SuiteSpec.model_validate(tomllib.loads(first))
    SuiteSpec.model_validate({"name": "s", **tomllib.loads(graders)})
    line, own = blocks("graders", "toml")
    SuiteSpec.model_validate({"name": "s", **tomllib.loads(own)})
    (tmp_path / "groundwire.toml").write_text(line)
    settings = load_settings(tmp_path / "groundwire.toml", environment={})
    for evaluator in settings.evaluators:
        build_metric(evaluator.metric, judge=OfflineJudge(), config=evaluator.config)
    defaults = GateConfig.model_validate(tomllib.loads(blocks("gate", "toml")[0]))
    assert defaults == GateConfig()
    Case.model_validate(json.loads(blocks("suites", "json")[0]))
    assert read_draft(json.loads(blocks("verify", "json")[0]), {}).claims


def test_the_workflow_blocks(folder: Path) -> None:
    steps = yaml.safe_load((folder / "gate.yml").read_text())["jobs"]["gate"]["steps"]
    commands = [step["run"] for step in steps if step.get("run", "").startswith("groundwire ")]
    run("groundwire suite suite.toml --out baseline.json")
    assert [run(command)[0] for command in commands] == [0, 1]
    assert (folder / "summary.md").read_text().startswith("### ❌ agents:v2 is blocked")
    assert (folder / "junit.xml").is_file()


def test_the_langfuse_experiment_raises_its_regression(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("groundwire suite suite.toml --out baseline.json")
    run("groundwire suite suite.toml --target agents:v2 --out candidate.json")
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("experiment", None)
    import experiment  # type: ignore[import-not-found]  # the example's own module

    cases = load_suite(folder / "suite.toml").cases
    data = [{"input": case.input, "expected_output": case.expect} for case in cases]
    client = Langfuse(public_key="pk-lf-made-up", secret_key="made-up", tracing_enabled=False)
    context = RunnerContext(client=client, data=data)  # type: ignore[arg-type]  # items as the action hands them in
    with pytest.raises(RegressionError) as raised:
        experiment.experiment(context)
    assert str(raised.value).splitlines()[-1] == "answered what must be refused: q4"
    values = [item.evaluations[0].value for item in raised.value.result.item_results]
    assert len(values) == 5
    (folder / "candidate.json").write_bytes((folder / "baseline.json").read_bytes())
    assert experiment.experiment(context).name == "support"


def test_the_langsmith_tests_run(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "langsmith.pytest_plugin", "test_support.py"],
        cwd=folder,
        env={
            "LANGSMITH_TEST_TRACKING": "false",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(folder),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "5 passed" in done.stdout, done.stdout[-800:]
