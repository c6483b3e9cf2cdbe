"""People annotate in Langfuse what the line has scored: read back, held against the judge, kept for the doctor."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp, served
from tests.connectors.langfuse_rows import NOON
from tests.connectors.test_annotations import put as say
from tests.flow.test_langfuse_line import NAME, put, samples
from typer.testing import CliRunner

from groundwire.jobs.calibration import meaning
from groundwire.jobs.cli import app as commands
from groundwire.scorer import ConfigError

CONFIG = """
[sources.prod]
platform = "langfuse"
host = "{url}"
public_key = "{public}"
secret_key = "{secret}"
settle = 0
lateness = 3600

[[evaluators]]
name = "{name}"
source = "prod"
settle = 0

[state]
url = "sqlite:///{folder}/state.db"
"""


def run(*arguments: str) -> str:
    result = CliRunner().invoke(commands, [*arguments])
    if isinstance(result.exception, ConfigError):
        return str(result.exception)
    assert result.exit_code == 0, result.output
    return result.stdout


def just_now() -> float:
    """As days before the noon that `say` counts from."""
    return (NOON - datetime.now(UTC)) / timedelta(days=1)


def test_annotation_scores_are_labels(tmp_path: Path) -> None:
    platform = LangfuseApp()
    made = [one for one in samples(24, ended=datetime.now(UTC) - timedelta(hours=2)) if one.score is not None]
    with served(platform) as url:
        config = str(tmp_path / "groundwire.toml")
        text = CONFIG.format(url=url, public=PUBLIC_KEY, secret=SECRET_KEY, name=NAME, folder=tmp_path)
        Path(config).write_text(text)
        for sample in made:
            put(platform, sample.trace)
        run("backfill", NAME, "--from", "1d", "--yes", "-c", config)
        assert "0 scores 'people' of people were found" in run(
            "calibrate", "--annotations", "people", "--evaluator", NAME, "-c", config
        )
        for index, sample in enumerate(made):
            said = sample.kind if index else "grounded"
            value: Any = {"hallucinated": "Hallucinated", "grounded": 1}[said]
            say(platform, value, traceId=sample.trace.trace_id, comment=f"comment {index}", days=just_now())
        say(platform, "grounded", traceId="never-judged", days=just_now())
        told = json.loads(run("calibrate", "--annotations", "people", "--evaluator", NAME, "-c", config, "--json"))
        doctor = run("doctor", "-c", config)
    [found] = told["calibrations"]
    assert found["labels"] == len(made)
    assert found["rows"]["kappa"]["agreement"] >= (len(made) - 1) / len(made)
    assert f"judge calibrated today on {len(made)} rows" in doctor


@pytest.mark.parametrize(
    ("value", "hallucinated", "lower", "expected"),
    [
        ("Hallucinated ", (), False, ("hallucinated", None)),
        ("grounded", (), False, ("grounded", None)),
        ("who knows", (), False, (None, None)),
        (1, (), False, ("grounded", 1.0)),
        (1, (), True, ("hallucinated", 1.0)),
        (True, (), False, ("grounded", None)),
        (False, (), False, ("hallucinated", None)),
        (0.4, (), False, (None, 0.4)),
        (3, (), False, (None, None)),
        (1, ("1",), False, ("hallucinated", None)),
        (0, ("1",), False, ("grounded", None)),
        (True, ("true",), False, ("hallucinated", None)),
        ("Bad", ("bad", "worse"), False, ("hallucinated", None)),
        ("good", ("bad",), False, ("grounded", None)),
    ],
)
def test_what_a_value_means(value: Any, hallucinated: tuple[str, ...], lower: bool, expected: Any) -> None:
    direction = "lower_is_better" if lower else "higher_is_better"
    assert meaning(value, direction=direction, hallucinated=hallucinated) == expected  # type: ignore[arg-type]
