"""A file of scores: one line a score, whole at every instant."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from groundwire.connectors import Score, Target
from groundwire.connectors.files.sink import FilesSink
from groundwire.scorer import GiveUp, RetryLater

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Killed(BaseException):
    """The process ends here."""


def score(name: str, value: float | str | None, comment: str = "") -> Score:
    return Score(
        score_id=name,
        name="support",
        value=value,
        target=Target(project="local", trace_id=f"trace-{name}", start_time=NOON),
        comment=comment,
    )


def values(path: Path) -> dict[str, Any]:
    """What a reader finds; every whole line is a score and no id stands twice."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else [""]
    rows = [json.loads(line) for line in lines[:-1]]
    found = {row["score_id"]: row["value"] for row in rows}
    assert len(found) == len(rows)
    return found


async def test_a_line_says_what_a_score_says(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    target = Target(
        project="local", trace_id="t", span_id="s", session_id="c", start_time=NOON, environment="production"
    )
    await FilesSink(out).push(
        [
            Score(
                score_id="a",
                name="support",
                value=0.75,
                target=target,
                comment="0.75 · 3 of 4\nnaïve",
                metadata={"claims": 4},
                lower_is_better=True,
            )
        ]
    )
    assert json.loads(out.read_text(encoding="utf-8")) == {
        "score_id": "a",
        "name": "support",
        "value": 0.75,
        "trace_id": "t",
        "span_id": "s",
        "session_id": "c",
        "project": "local",
        "environment": "production",
        "start_time": "2026-11-30T12:00:00+00:00",
        "lower_is_better": True,
        "comment": "0.75 · 3 of 4\nnaïve",
        "metadata": {"claims": 4},
    }
    assert "naïve" in out.read_text(encoding="utf-8")


async def test_scores_are_added_changed_and_withdrawn(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    sink = FilesSink(out)
    await sink.push([score("a", 1.0), score("b", 0.5)])
    assert values(out) == {"a": 1.0, "b": 0.5}
    await sink.push([score("b", 0.25), score("c", "invalid"), score("a", None)])
    assert values(out) == {"b": 0.25, "c": "invalid"}
    await sink.push([score("d", 1.0), score("d", 0.0), score("e", 1.0), score("e", None)])
    assert values(out) == {"b": 0.25, "c": "invalid", "d": 0.0}
    await FilesSink(out).push([score("b", None), score("c", None), score("d", None)])
    assert values(out) == {}


async def test_the_same_again_does_not_touch_the_file(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    await FilesSink(out).push([score("a", 1.0)])
    before = out.stat()
    await FilesSink(out).push([score("a", 1.0), score("never", None)])
    after = out.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("cut", range(1, 40, 3))
async def test_a_torn_last_line_is_mended_and_loses_no_other(tmp_path: Path, cut: int) -> None:
    out = tmp_path / "scores.jsonl"
    await FilesSink(out).push([score("a", 1.0)])
    whole = out.stat().st_size
    await FilesSink(out).push([score("b", 0.5)])
    os.truncate(out, whole + cut)
    await FilesSink(out).push([score("c", 0.25)])
    assert values(out) == {"a": 1.0, "c": 0.25}


async def test_a_last_line_without_its_end_still_counts(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    await FilesSink(out).push([score("a", 1.0), score("b", 0.5)])
    os.truncate(out, out.stat().st_size - 1)
    await FilesSink(out).push([score("c", 0.25)])
    assert values(out) == {"a": 1.0, "b": 0.5, "c": 0.25}


async def test_an_edited_file_with_an_id_twice_keeps_the_last(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    sink = FilesSink(out)
    await sink.push([score("a", 1.0), score("b", 0.5)])
    out.write_text(out.read_text() + json.dumps({"score_id": "a", "value": 0.0}) + "\n")
    await sink.push([score("c", 0.25)])
    assert values(out) == {"a": 0.0, "b": 0.5, "c": 0.25}


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("call", [1, 2])
async def test_killed_at_any_step_the_file_holds_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, call: int
) -> None:
    out = tmp_path / "scores.jsonl"
    await FilesSink(out).push([score("a", 1.0), score("b", 0.5)])
    pushes = [[score("c", 0.0)], [score("a", 0.25), score("d", 0.0)], [score("b", None)]]
    states = [
        {"a": 1.0, "b": 0.5},
        {"a": 1.0, "b": 0.5, "c": 0.0},
        {"a": 0.25, "b": 0.5, "c": 0.0, "d": 0.0},
        {"a": 0.25, "c": 0.0, "d": 0.0},
    ]
    calls = 0

    def dies(original: Any) -> Any:
        def wrapped(*args: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == call:
                raise Killed
            return original(*args)

        return wrapped

    with monkeypatch.context() as patch:
        if step == "fsync":
            patch.setattr(os, "fsync", dies(os.fsync))
        else:
            patch.setattr(Path, "replace", dies(Path.replace))
        done = 0
        with suppress(Killed):
            for push in pushes:
                await FilesSink(out).push(push)
                done += 1
        assert calls == call, "nothing was killed"
    assert values(out) in (states[done], states[done + 1])
    for push in pushes[done:]:
        await FilesSink(out).push(push)
    assert values(out) == states[-1]


def test_a_real_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    child = """
import asyncio, sys
from datetime import UTC, datetime
from groundwire.connectors import Score, Target
from groundwire.connectors.files.sink import FilesSink
async def main():
    sink = FilesSink(sys.argv[1])
    for n in range(100_000):
        target = Target(project="p", trace_id="t", start_time=datetime(2026, 1, 1, tzinfo=UTC))
        await sink.push([Score(score_id=f"{k}", name="n", value=float(n), target=target) for k in (n, n % 7)])
        print(n, flush=True)
asyncio.run(main())
"""
    acknowledged = -1
    with subprocess.Popen([sys.executable, "-c", child, str(out)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged == 60:
                process.send_signal(signal.SIGKILL)
    assert acknowledged >= 60
    found = values(out)
    for n in range(acknowledged + 1):
        newest = max(m for m in range(acknowledged + 1) if m == n or m % 7 == n)
        assert found[str(n)] >= newest
    asyncio.run(FilesSink(out).push([score("after", 1.0)]))
    assert values(out)["after"] == 1.0


async def test_two_writers_take_turns(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    first, second = FilesSink(out), FilesSink(out)
    for n in range(10):
        await first.push([score(f"first-{n}", 1.0), score("shared", float(n))])
        await second.push([score(f"second-{n}", 1.0), score("shared", float(-n))])
    found = values(out)
    assert len(found) == 21
    assert found["shared"] == -9.0


async def test_a_file_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "traces.jsonl"
    out.write_text('{"id": "a trace"}\n')
    with pytest.raises(GiveUp, match="it holds lines that are no scores"):
        await FilesSink(out).push([score("a", 1.0)])
    assert out.read_text() == '{"id": "a trace"}\n'


async def test_a_full_disk_is_waited_for_and_a_missing_folder_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    sink = FilesSink(tmp_path / "scores.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RetryLater, match="No space left on device"):
            await sink.push([score("a", 1.0)])
    await sink.push([score("a", 1.0)])
    assert values(tmp_path / "scores.jsonl") == {"a": 1.0}
    missing = FilesSink(tmp_path / "nowhere" / "scores.jsonl")
    with pytest.raises(GiveUp, match="check `out` and its folder"):
        await missing.push([score("a", 1.0)])
    assert [finding.state for finding in await missing.check()] == ["failed"]
    assert [finding.state for finding in await FilesSink(tmp_path).check()] == ["failed"]
    assert [finding.state for finding in await sink.check()] == ["ok"]
