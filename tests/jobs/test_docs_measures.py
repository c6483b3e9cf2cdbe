"""The pages on calibration and rates: their commands run, and print what the pages show."""

import re
import shlex
import time
from contextlib import chdir
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groundwire.connectors.testing import FakePlatform, make_sample
from groundwire.jobs.cli import app

DOCS = Path(__file__).parents[2] / "docs"
NOT_HERE = ("groundwire label", "--annotations")
"""Commands that need a person or a platform; test_cli_measures.py and the flow's tests run them."""
CONFIG = """
[sources.prod]
platform = "groundwire.connectors.testing:fake"
path = "platform.db"
lateness = 0

[[evaluators]]
name = "support-groundedness"
source = "prod"
settle = 0
"""


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[tuple[str, list[str]]]:
    """Each command with the lines that the page shows below it."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ ").partition("  #")[0], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's own block has made its traces and labels, and the same traces have been judged by the line."""
    folder = tmp_path_factory.mktemp("docs")
    with chdir(folder):
        exec(blocks("calibration.md", "python")[0], {})  # noqa: S102 - the page's own block
        Path("groundwire.toml").write_text(CONFIG)
        assert CliRunner().invoke(app, ["run", "--once"]).exit_code == 0
        platform = FakePlatform("platform.db")
        for number in range(40):
            kind = "hallucinated" if number % 4 == 0 else "grounded"
            end = datetime.now(UTC) + timedelta(milliseconds=number)
            platform.put(make_sample(number, kind=kind, end=end).trace)  # type: ignore[arg-type]
        platform.close()
        time.sleep(0.05)
        assert CliRunner().invoke(app, ["run", "--once"]).exit_code == 0
    return folder


@pytest.mark.parametrize("page", ["calibration.md", "report.md"])
def test_commands_print_what_the_page_shows(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    ran = 0
    for command, shown in commands(page):
        result = CliRunner().invoke(app, [*shlex.split(command)[1:], *(["--help"] if _elsewhere(command) else [])])
        assert result.exit_code == 0, f"{command}: {result.output} {result.exception}"
        for line in shown:
            assert line in result.stdout, command
        ran += 1
    assert ran >= 3
    if page == "report.md":
        assert "</html>" in (folder / "rates.html").read_text()


def _elsewhere(command: str) -> bool:
    return any(words in command for words in NOT_HERE)
