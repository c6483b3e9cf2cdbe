"""`groundwire label`, `calibrate` and `report` as their user meets them, on files and on the state."""

import json
import os
import pty
import select
import sys
import termios
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.scorer.openai_server import JudgeServer
from typer.testing import CliRunner

from groundwire.connectors import cut
from groundwire.connectors.testing import FakePlatform, make_sample
from groundwire.jobs.cli import app
from groundwire.scorer import ConfigError

END = datetime(2026, 11, 30, tzinfo=UTC)
CONFIG = """
[sources.prod]
platform = "groundwire.connectors.testing:fake"
path = "{folder}/platform.db"
lateness = 0

[[evaluators]]
name = "groundedness"
source = "prod"
settle = 0

[state]
url = "sqlite:///{folder}/state.db"
"""


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, [*arguments])
    if isinstance(result.exception, ConfigError):
        assert code == 2, result.exception
        return str(result.exception)
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    server = JudgeServer().start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with traces, their rows, and labels that differ from the judge twice."""
    folder = tmp_path_factory.mktemp("files")
    with (folder / "traces.jsonl").open("w") as traces, (folder / "labels.jsonl").open("w") as labels:
        for index in range(16):
            kind = "hallucinated" if index % 3 == 0 else "grounded"
            [partition] = cut(make_sample(index, seed=5, kind=kind, end=END).trace, "trace")  # type: ignore[arg-type]
            traces.write(partition.model_dump_json(by_alias=True) + "\n")
            said = "grounded" if index in (0, 3) else kind
            label = {"partition_id": partition.partition_id, "label": said, "reason": f"reason {index}"}
            labels.write(json.dumps(label) + "\n")
    run("score", str(folder / "traces.jsonl"), "--out", str(folder / "rows.jsonl"))
    return folder


# -- calibrate


def test_rows_traces_and_probes_give_the_same_agreement(made: Path) -> None:
    labels, traces, rows = (str(made / name) for name in ("labels.jsonl", "traces.jsonl", "rows.jsonl"))
    of_rows = json.loads(run("calibrate", labels, "--rows", rows, "--json"))
    of_traces = json.loads(run("calibrate", labels, traces, "--probe", "--repeats", "2", "--json"))
    assert of_rows["calibrations"] == of_traces["calibrations"]
    [found] = of_rows["calibrations"]
    assert found["rows"]["confusion"]["counts"] == [[10, 2], [0, 4]]
    assert found["rows"]["kappa"]["value"] == pytest.approx((14 / 16 - 144 / 256) / (1 - 144 / 256))
    assert [one["people_reason"] for one in found["differences"]] == ["reason 0", "reason 3"]
    assert of_rows["probes"] is None
    assert {name: of_traces["probes"][name]["found"] for name in ("retest", "position", "verbosity")} == {
        "retest": False,
        "position": False,
        "verbosity": False,
    }
    printed = run("calibrate", labels, traces, "--rows", rows, "--probe")
    for words in (
        "16 labels",
        "88 % (64 to 97 %)",
        "precision 0.67",
        "recall 1.00",
        "best threshold",
        "where they differ: 2",
        "test-retest  not seen",
        "position     not seen",
        "verbosity    not seen",
        "people  grounded: reason 0",
    ):
        assert words in printed


@pytest.mark.parametrize("metric", ["conversation.hallucination", "unsupported_spans"])
def test_every_metric_with_a_verdict_is_calibrated(metric: str, made: Path, tmp_path: Path) -> None:
    labels, traces, rows = str(made / "labels.jsonl"), str(made / "traces.jsonl"), str(tmp_path / "rows.jsonl")
    run("score", traces, "--metric", metric, "--out", rows)
    told = json.loads(run("calibrate", labels, traces, "--rows", rows, "--metric", metric, "--probe", "--json"))
    [found] = told["calibrations"]
    assert (found["metric"], found["lower_is_better"], found["threshold"]["at"]) == (metric, True, 0.5)
    assert found["rows"]["confusion"]["counts"] == [[10, 2], [0, 4]]
    assert not told["probes"]["verbosity"]["found"]


def written(path: Path, *lines: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_bad_input_is_one_line_and_exit_code_2(made: Path, tmp_path: Path) -> None:
    labels, traces, rows = (str(made / name) for name in ("labels.jsonl", "traces.jsonl", "rows.jsonl"))
    lines = [json.loads(line) for line in (made / "labels.jsonl").read_text().splitlines()]
    gone = written(tmp_path / "gone.jsonl", *lines, {"row_id": "row_none", "label": "grounded"})
    few = written(tmp_path / "few.jsonl", *lines[:9])
    one = written(tmp_path / "one.jsonl", *({**line, "label": "grounded"} for line in lines))
    bare = written(tmp_path / "bare.jsonl", *({"row_id": f"r{n}", "label": "grounded"} for n in range(12)))
    nan = tmp_path / "nan.jsonl"
    nan.write_text('{"row_id": "r", "score": NaN}\n')
    for arguments, words in (
        ([str(tmp_path / "nothing.jsonl"), "--rows", rows], "groundwire label"),
        ([gone, "--rows", rows], "1 of 17 labels are for rows that aren't there, the first for 'row_none'"),
        ([few, "--rows", rows], "9 labels, at least 10 are needed"),
        ([one, "--rows", rows], "all 16 labels say grounded: kappa is undefined with one class"),
        ([str(nan), "--rows", rows], "line 1: score: Input should be a finite number"),
        ([labels], "name the traces that were labelled"),
        ([labels, "--rows", str(tmp_path / "no.jsonl")], "No such file"),
        ([labels, "--rows", rows, "--probe"], "--probe asks the judge again: name the files"),
        ([labels, traces, "--level", "line"], "--level is span, trace or session"),
        ([labels, str(tmp_path / "none.jsonl")], "16 of 16 labels are for rows that aren't there"),
        ([bare, traces], "a label names its row only; add --rows"),
        ([labels, traces, "--evaluator", "x"], "leave the files and --rows out"),
        ([labels, "--evaluator", "x", "-c", str(tmp_path / "no.toml")], "isn't there"),
    ):
        message = run("calibrate", *arguments, code=2)
        assert words in message
        assert "\n" not in message


def test_a_model_is_asked_within_its_budget(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: JudgeServer
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "made-up")
    config = tmp_path / "judge.toml"
    config.write_text("[judge]\nprice = { input = 1.0, output = 2.0 }\n")
    labels, traces = str(made / "labels.jsonl"), str(made / "traces.jsonl")
    asked = ["calibrate", labels, traces, "--judge", "llm", "--model", "judge", "--base-url", server.url, "--config"]
    told = json.loads(run(*asked, str(config), "--max-usd", "5", "--probe", "--repeats", "2", "--json"))
    assert told["calibrations"][0]["judge"]["model"] == "judge"
    assert told["probes"]["retest"]["found"] is False
    assert told["probes"]["calls"] == 4 * 16 * 2
    assert told["probes"]["micro_dollars"] > 0
    assert "the budget was spent with" in run(*asked, str(config), "--max-usd", "0.01", code=2)


# -- label


class Terminal:
    """A pseudo-terminal with groundwire in it."""

    def __init__(self, *arguments: str) -> None:
        self.shown = ""
        self._at = 0
        self.pid, self._fd = pty.fork()
        if self.pid == 0:  # the child
            environment = {**os.environ, "COLUMNS": "160", "LINES": "50", "TERM": "dumb"}
            command = [sys.executable, "-m", "groundwire.jobs.cli", *arguments]
            os.execve(sys.executable, command, environment)  # noqa: S606 - groundwire itself

    def until(self, words: str, *, seconds: float = 30) -> None:
        """Read on until the words stand there, after what was waited for before."""
        end = time.monotonic() + seconds
        while (found := self.shown.find(words, self._at)) < 0:
            assert time.monotonic() < end, self.shown
            if select.select([self._fd], [], [], 0.2)[0]:
                try:
                    self.shown += os.read(self._fd, 65_536).decode(errors="replace")
                except OSError:  # it has ended
                    assert words in self.shown[self._at :], self.shown
        self._at = found + len(words)

    def press(self, key: str) -> None:
        """Press a key as soon as one is waited for; what comes earlier is thrown away."""
        end = time.monotonic() + 30
        while termios.tcgetattr(self._fd)[3] & termios.ICANON:
            assert time.monotonic() < end
            time.sleep(0.02)
        os.write(self._fd, key.encode())

    def type(self, line: str) -> None:
        os.write(self._fd, line.encode() + b"\n")

    def close(self) -> int:
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._fd)
        return status


def test_labelling_stops_and_goes_on_in_a_terminal(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.jsonl"
    arguments = ["label", str(made / "traces.jsonl"), "--rows", str(made / "rows.jsonl"), "--n", "3", "--out", str(out)]
    terminal = Terminal(*arguments, "--labeller", "ada")
    terminal.until("q stop")
    assert "1 of 3" in terminal.shown
    assert "find_order" in terminal.shown
    terminal.press("r")
    terminal.until("reason: ")
    terminal.type("the price is wrong")
    terminal.until("q stop")
    terminal.press("h")
    terminal.until("2 of 3")
    terminal.until("q stop")
    terminal.press("q")
    terminal.until("goes on from here")
    assert terminal.close() == 0
    [first] = [json.loads(line) for line in out.read_text().splitlines()]
    assert (first["label"], first["reason"], first["labeller"]) == ("hallucinated", "the price is wrong", "ada")
    assert 0 < first["inclusion"] <= 1
    terminal = Terminal(*arguments)
    terminal.until("2 of 3")
    terminal.until("q stop")
    terminal.press("g")
    terminal.until("3 of 3")
    terminal.until("q stop")
    terminal.press("b")
    terminal.until("2 of 3")
    terminal.until("q stop")
    terminal.press("s")
    terminal.until("q stop")
    terminal.press("g")
    terminal.until("3 labels in")
    assert terminal.close() == 0
    labels = [json.loads(line) for line in out.read_text().splitlines()]
    assert len({label["row_id"] for label in labels}) == len(labels) == 3
    rows = {row["row_id"]: row for row in map(json.loads, (made / "rows.jsonl").read_text().splitlines())}
    assert {rows[label["row_id"]]["label"] for label in labels} == {"grounded", "hallucinated"}


def test_label_needs_a_terminal_and_something_to_label(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traces, rows = str(made / "traces.jsonl"), str(made / "rows.jsonl")
    assert "asks in a terminal" in run("label", traces, "--rows", rows, code=2)
    monkeypatch.setattr("groundwire.jobs.cli.label.is_terminal", lambda: True)
    assert "name the traces and their --rows" in run("label", traces, code=2)
    assert "name it with --evaluator" in run("label", traces, "--rows", rows, "--annotate", "human", code=2)
    assert "name a file in a folder" in run("label", traces, "--rows", rows, "--out", str(made), code=2)


# -- the state


@pytest.fixture
def configured(tmp_path: Path) -> Iterator[tuple[str, FakePlatform]]:
    """A configuration over a fake platform whose traces have been judged."""
    config = tmp_path / "groundwire.toml"
    config.write_text(CONFIG.format(folder=tmp_path))
    run("run", "--once", "-c", str(config))  # it begins here
    platform = FakePlatform(tmp_path / "platform.db")
    for index in range(14):
        kind = "hallucinated" if index % 3 == 0 else "grounded"
        end = datetime.now(UTC) + timedelta(milliseconds=index)
        platform.put(make_sample(index, seed=5, kind=kind, end=end).trace)  # type: ignore[arg-type]
    time.sleep(0.05)
    run("run", "--once", "-c", str(config))
    yield str(config), platform
    platform.close()


def test_the_state_is_labelled_calibrated_and_reported(
    configured: tuple[str, FakePlatform], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, platform = configured
    keys = iter("hgghgghgghgghg")
    monkeypatch.setattr("groundwire.jobs.cli.label.is_terminal", lambda: True)
    monkeypatch.setattr("groundwire.jobs.cli.label.read_key", lambda: next(keys))
    labels = str(tmp_path / "labels.jsonl")
    assert "never: `groundwire label`" in run("doctor", "-c", config)
    shown = run("label", "--evaluator", "groundedness", "-c", config, "--out", labels, "--annotate", "people")
    assert "14 labels in" in shown
    assert "14 scores people written to prod" in shown
    scores = [score for score in platform.scores() if score.name == "people"]
    assert sorted({str(score.value) for score in scores}) == ["grounded", "hallucinated"]
    assert len(scores) == 14
    told = json.loads(run("calibrate", labels, "--evaluator", "groundedness", "-c", config, "--probe", "--json"))
    [found] = told["calibrations"]
    assert (found["labels"], found["changed"]) == (14, 0)
    assert told["probes"]["retest"]["n"] == 14
    kappa = found["rows"]["kappa"]["value"]
    known = f"judge calibrated today on 14 rows: kappa {kappa:.2f}"
    assert known in run("doctor", "-c", config)
    page = tmp_path / "rates.html"
    printed = run("report", "-c", config, "--html", str(page))
    assert known in printed
    assert "of 14 rows with a verdict" in printed
    assert known in page.read_text()
    report = json.loads(run("report", "-c", config, "--json", "--since", "2d"))
    assert report["groups"][0]["overall"]["hallucinated"]["n"] == 14
    Path(config).write_text(Path(config).read_text().replace("settle = 0\n\n", 'settle = 0\ngiven = ["user"]\n\n'))
    assert "stale: the configuration has changed since" in run("doctor", "-c", config)


MODEL = """
[judges.default]
model = "judge"
api_key = "made-up"
base_url = "{url}"
price = {{ input = 1.0, output = 2.0 }}
"""


def test_probing_spends_its_own_budget_and_never_the_evaluators_window(
    configured: tuple[str, FakePlatform], tmp_path: Path, server: JudgeServer
) -> None:
    config, _ = configured
    text = Path(config).read_text()
    labels = written(
        tmp_path / "labels.jsonl",
        *(
            {
                "trace_id": make_sample(n, seed=5, end=END).trace.trace_id,
                "label": "grounded" if n % 3 else "hallucinated",
            }
            for n in range(14)
        ),
    )
    Path(config).write_text(text.replace("settle = 0\n", 'settle = 0\ncap = { usd = 5.0, per = "day" }\n')
                            + MODEL.format(url=server.url))  # fmt: skip
    asked = ["calibrate", labels, "--evaluator", "groundedness", "-c", config, "--probe", "--repeats", "2"]
    assert "the budget was spent with" in run(*asked, "--max-usd", "0.001", code=2)
    assert "judge calls, $0.0" in run(*asked, "--max-usd", "5")
    spent = run("spend", "-c", config)
    assert "groundedness (backfill)" in spent
    assert not [line for line in spent.splitlines() if line.startswith("groundedness ") and "(backfill)" not in line]


def test_report_refuses_what_it_cannot_mean(configured: tuple[str, FakePlatform], tmp_path: Path) -> None:
    config, _ = configured
    for arguments, words in (
        (["--evaluator", "none"], "no evaluator is called 'none'"),
        (["--since", "yesterday"], "is no time"),
        (["--since", "1d", "--until", "2d"], "is not before --until"),
        (["--html", str(tmp_path)], "name a file"),
    ):
        assert words in run("report", "-c", config, *arguments, code=2)
