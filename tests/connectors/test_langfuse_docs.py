"""Every code block and every setting of docs/langfuse.md is true."""

import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp, served
from tests.connectors.langfuse_rows import agent_trace

from groundwire.connectors import WHERE_FIELDS, load_connector
from groundwire.connectors.langfuse import LangfuseSettings
from groundwire.jobs.spec import EvaluatorSpec

TEXT = (Path(__file__).parents[2] / "docs" / "langfuse.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[str]:
    return [body for name, body in BLOCKS if name == language]


def test_there_are_blocks_of_three_languages_and_no_other() -> None:
    assert {name for name, _ in BLOCKS} == {"bash", "toml", "python"}


def test_the_table_of_settings_is_the_settings() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", TEXT, re.MULTILINE))
    fields = LangfuseSettings.model_fields
    assert set(table) == set(fields)
    for name, field in fields.items():
        shown = table[name].strip().strip("`")
        if field.is_required():
            assert shown == "–"
        elif name == "plan":
            assert shown == "by host"
        else:
            assert shown == (str(field.default).lower() if isinstance(field.default, bool) else str(field.default))


@pytest.mark.parametrize("block", blocks("toml"))
def test_a_configuration_is_valid(block: str) -> None:
    read = tomllib.loads(block)
    for name, source in read["sources"].items():
        platform = source.pop("platform")
        load_connector(platform).read_settings(source, at=f"sources.{name}")
    for evaluator in read.get("evaluators", ()):
        EvaluatorSpec.model_validate(evaluator)


def test_the_whole_source_sets_every_key() -> None:
    assert set(tomllib.loads(blocks("toml")[1])["sources"]["eu"]) == {*LangfuseSettings.model_fields, "platform"}


def test_every_where_field_is_named() -> None:
    section = TEXT.partition("## Filters")[2].partition("## ")[0]
    assert {name for name in WHERE_FIELDS if f"`{name}`" in section} == set(WHERE_FIELDS)
    load_connector("langfuse").check_where(WHERE_FIELDS)


def commands() -> list[list[str]]:
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    return [line.split()[1:] for line in lines if line.startswith("groundwire ")]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_and_option_exists(command: list[str]) -> None:
    from groundwire.jobs.cli import app

    told = typer.testing.CliRunner().invoke(app, [command[0], "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert told.exit_code == 0
    for option in command[1:]:
        if option.startswith("--"):
            assert option in told.output


def test_the_commands_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user types them, from `init` on; `run` polls once."""
    from groundwire.jobs.cli import app

    platform = LangfuseApp()
    for number in range(3):
        agent_trace(platform, number, end=datetime.now(UTC) - timedelta(minutes=5))
        agent_trace(platform, 10 + number, end=datetime(2026, 11, 15, 12, number, tzinfo=UTC))
    monkeypatch.chdir(tmp_path)
    said: dict[str, str] = {}
    with served(platform) as url:
        environment = {
            "LANGFUSE_BASE_URL": url,
            "LANGFUSE_PUBLIC_KEY": PUBLIC_KEY,
            "LANGFUSE_SECRET_KEY": SECRET_KEY,
            "COLUMNS": "200",
        }
        for command in commands():
            once = ["--once"] if command[0] == "run" else []
            done = typer.testing.CliRunner().invoke(app, [*command, *once], env=environment, input="y\n")
            assert done.exit_code == 0, (command, done.output, done.exception)
            said[command[0]] = done.output
    assert "failed" not in said["doctor"]
    assert "3 partitions" in said["plan"]
    scored = {score["traceId"] for score in platform.shown()}
    assert scored == {f"{10 + number:032x}" for number in range(3)}, "history by backfill; `run` begins now"


@pytest.fixture(scope="module")
def project() -> Iterator[str]:
    app = LangfuseApp()
    for number in range(3):
        agent_trace(app, number, end=datetime.now(UTC) - timedelta(minutes=5))
    with served(app) as url:
        yield url


@pytest.mark.parametrize("block", blocks("python"), ids=["experiment", "batch"])
def test_the_examples_run(
    block: str, project: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LANGFUSE_BASE_URL", project)
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", PUBLIC_KEY)
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", SECRET_KEY)
    # the SDK keeps one client for each public key, also over tests
    from langfuse._client.resource_manager import LangfuseResourceManager

    LangfuseResourceManager.reset()
    space: dict[str, Any] = {}
    exec(compile(block, "docs/langfuse.md", "exec"), space)  # noqa: S102 - the documentation is what is tested
    space["langfuse"].shutdown()
    LangfuseResourceManager.reset()
    assert capsys.readouterr().out.strip()
    result = space["result"]
    if hasattr(result, "item_results"):
        evaluations = result.item_results[0].evaluations
        assert [one.name for one in evaluations] in (["groundedness"], ["groundedness.status"])
    else:
        assert (result.total_items_processed, result.total_items_failed) == (3, 0)
