"""Files watched as people write them: appended, torn, rotated, rewritten, renamed, compressed, spoilt."""

import gzip
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from groundwire.connectors import Origin, Page, Trace, Window
from groundwire.connectors.files.source import FilesSource
from groundwire.scorer import SkipThis

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
EVER = Window(start=datetime(2020, 1, 1, tzinfo=UTC))

Cursor = Mapping[str, JsonValue]


def row(trace: int, span: int, *, second: int = 0, output: str = "said", parent: bool = True) -> dict[str, Any]:
    """A Langfuse observation of a trace: span 0 is its root."""
    return {
        "id": f"s{trace}-{span}",
        "traceId": f"t{trace}",
        "type": "AGENT" if span == 0 else "TOOL",
        "name": f"step-{span}",
        "startTime": f"2026-11-30T11:{trace:02d}:{second:02d}.000Z",
        "endTime": f"2026-11-30T11:{trace:02d}:{second + 1:02d}.000Z",
        "parentObservationId": f"s{trace}-0" if span and parent else None,
        "output": output,
    }


def talk(name: str, answer: str) -> dict[str, Any]:
    """A conversation without times."""
    return {"id": name, "messages": [{"role": "user", "content": "Well?"}, {"role": "assistant", "content": answer}]}


def append(path: Path, *records: Any, end: str = "\n") -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write("\n".join(json.dumps(record) for record in records) + end)


def written_at(path: Path, moment: datetime) -> None:
    os.utime(path, (moment.timestamp(), moment.timestamp()))


class Watch:
    """A source that is restarted for every look, and what it has given."""

    def __init__(self, pattern: Path | str, *, page_size: int = 100, leave_out: tuple[str, ...] = ()) -> None:
        self.pattern, self.page_size, self.leave_out = str(pattern), page_size, leave_out
        self.cursor: Cursor | None = None
        self.pages: list[Page] = []

    async def look(self, window: Window = EVER, *, pages: int = 999) -> dict[str, int]:
        """How many spans each trace has that is given from the cursor on; the cursor moves."""
        source = FilesSource(self.pattern, page_size=self.page_size, leave_out=self.leave_out, clock=lambda: NOON)
        self.pages = []
        try:
            async for page in source.pull(window, self.cursor):
                self.pages.append(page)
                self.cursor = json.loads(json.dumps(page.cursor))
                if len(self.pages) == pages:
                    break
        finally:
            await source.close()
        return {trace.trace_id: len(trace.spans) for trace in self.traces}

    @property
    def traces(self) -> list[Trace]:
        return [trace for page in self.pages for trace in page.traces]

    @property
    def problems(self) -> list[str]:
        return [problem for page in self.pages for problem in page.problems]


async def test_only_what_was_appended_is_given(tmp_path: Path) -> None:
    file, watch = tmp_path / "a.jsonl", Watch(tmp_path / "*.jsonl")
    append(file, row(1, 0), row(1, 1), row(2, 0))
    assert await watch.look() == {"t1": 2, "t2": 1}
    assert await watch.look() == {}
    append(file, row(3, 0))
    append(tmp_path / "b.jsonl", row(4, 0))
    assert await watch.look() == {"t3": 1, "t4": 1}
    assert await watch.look() == {}


async def test_a_trace_is_whole_wherever_its_rows_stand(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "*.jsonl")
    append(tmp_path / "a.jsonl", row(1, 0), row(2, 0), row(1, 1))
    assert await watch.look() == {"t1": 2, "t2": 1}
    append(tmp_path / "b.jsonl", row(1, 2))  # the log was split at midnight
    assert await watch.look() == {"t1": 3}
    assert watch.traces[0].root is not None
    assert watch.traces[0].origin == f"{tmp_path}/a.jsonl:1"


async def test_each_trace_once_though_its_rows_are_far_apart(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "a.jsonl", page_size=1)
    append(tmp_path / "a.jsonl", row(1, 0), row(2, 0), row(3, 0), row(1, 1))
    assert await watch.look() == {"t1": 2, "t2": 1, "t3": 1}
    assert [len(page.traces) for page in watch.pages] == [1, 1, 1, 0]


async def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    file, watch = tmp_path / "a.jsonl", Watch(tmp_path / "a.jsonl")
    whole = json.dumps(row(2, 0))
    append(file, row(1, 0))
    with file.open("a") as stream:
        stream.write(whole[:40])
    assert await watch.look() == {"t1": 1}
    assert watch.problems == []
    assert await watch.look() == {}
    with file.open("a") as stream:
        stream.write(whole[40:])  # whole, though its end of line is still to come
    assert await watch.look() == {"t2": 1}
    with file.open("a") as stream:
        stream.write("\n")
    append(file, row(3, 0))
    assert await watch.look() == {"t3": 1}
    assert watch.traces[0].origin.endswith("a.jsonl:3")


async def test_a_file_that_begins_with_a_torn_line(tmp_path: Path) -> None:
    file, watch = tmp_path / "a.jsonl", Watch(tmp_path / "a.jsonl")
    file.write_text('{"id": "s0')
    assert await watch.look() == {}
    assert watch.problems == []
    with file.open("a") as stream:
        stream.write("\n")
    append(file, row(1, 0))
    assert await watch.look() == {"t1": 1}
    assert watch.problems == [f"{file}:1: broken JSON here (unterminated string starting at); the rest was read"]
    append(file, row(2, 0))
    assert await watch.look() == {"t2": 1}
    assert watch.problems == []


@pytest.mark.parametrize("replacement", ["shorter", "as long", "longer", "same beginning"])
async def test_a_replaced_file_is_read_from_its_beginning(tmp_path: Path, replacement: str) -> None:
    file, watch = tmp_path / "a.jsonl", Watch(tmp_path / "a.jsonl")
    before = [row(trace, 0, output="x" * 500) for trace in (1, 2, 3)]
    append(file, *before)
    assert len(await watch.look()) == 3
    match replacement:
        case "shorter":
            after = [row(4, 0)]
        case "as long":
            after = [row(trace, 0, output="y" * 500) for trace in (4, 5, 6)]
        case "longer":
            after = [row(trace, 0, output="z" * 500) for trace in (4, 5, 6, 7)]
        case _:
            after = [*before[:2], row(4, 0, output="x" * 500), row(5, 0)]
    file.unlink()
    append(file, *after)
    assert set(await watch.look()) == {f"t{trace['traceId'][1:]}" for trace in after}
    assert await watch.look() == {}


async def test_rotation_by_renaming_loses_and_repeats_nothing(tmp_path: Path) -> None:
    file, watch = tmp_path / "log.jsonl", Watch(tmp_path / "*.jsonl")
    append(file, row(1, 0), row(2, 0))
    assert set(await watch.look()) == {"t1", "t2"}
    append(file, row(3, 0))
    file.rename(tmp_path / "log-1.jsonl")
    append(file, row(4, 0))
    assert set(await watch.look()) == {"t3", "t4"}
    (tmp_path / "log-1.jsonl").rename(tmp_path / "log-2.jsonl")
    file.rename(tmp_path / "log-1.jsonl")
    append(file, row(5, 0))
    assert set(await watch.look()) == {"t5"}
    assert await watch.look() == {}


async def test_rotation_by_copying_and_truncating(tmp_path: Path) -> None:
    file, watch = tmp_path / "log.jsonl", Watch(tmp_path / "log.jsonl")
    append(file, row(1, 0), row(2, 0))
    assert set(await watch.look()) == {"t1", "t2"}
    os.truncate(file, 0)
    assert await watch.look() == {}
    append(file, row(3, 0))
    assert set(await watch.look()) == {"t3"}


async def test_a_replacement_between_two_looks_of_one_process(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    append(file, row(1, 0), row(2, 0))
    source = FilesSource(str(file))
    cursor: Cursor | None = None
    given: list[str] = []
    for trace in (1, 5):
        if trace == 5:
            file.write_text("")
            append(file, row(5, 0), row(6, 0), row(7, 0))
        async for page in source.pull(EVER, cursor):
            given += [trace.trace_id for trace in page.traces]
            cursor = page.cursor
    assert given == ["t1", "t2", "t5", "t6", "t7"]
    with pytest.raises(SkipThis, match="stands in none of the files any more"):
        await source.fetch(Origin(trace_id="t1"))
    await source.close()


async def test_documents_are_read_anew_when_they_change(tmp_path: Path) -> None:
    file, watch = tmp_path / "export.json", Watch(tmp_path / "*.json*")
    file.write_text(json.dumps([row(1, 0), row(1, 1), row(2, 0)], indent=1))
    written_at(file, NOON)
    assert await watch.look() == {"t1": 2, "t2": 1}
    assert await watch.look() == {}
    file.write_text(json.dumps({"data": [row(1, 0), row(3, 0)]}, indent=1))
    assert await watch.look() == {"t1": 1, "t3": 1}
    (tmp_path / "more.jsonl.gz").write_bytes(gzip.compress((json.dumps(row(4, 0)) + "\n").encode()))
    assert await watch.look() == {"t4": 1}
    file.rename(tmp_path / "renamed.json")
    assert await watch.look() == {}


async def test_a_document_is_resumed_where_it_was_left(tmp_path: Path) -> None:
    file, watch = tmp_path / "export.json", Watch(tmp_path / "export.json", page_size=2)
    file.write_text(json.dumps([row(trace, 0) for trace in range(1, 6)], indent=1))
    assert set(await watch.look(pages=1)) == {"t1", "t2"}
    assert set(await watch.look(pages=1)) == {"t3", "t4"}
    assert set(await watch.look()) == {"t5"}


async def test_one_line_with_many_traces_moves_the_cursor_all_the_same(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "a.jsonl", page_size=2)
    append(tmp_path / "a.jsonl", {"data": [row(trace, 0) for trace in range(1, 6)]}, [row(6, 0), row(7, 0)])
    assert set(await watch.look(pages=1)) == {"t1", "t2", "t3", "t4", "t5"}
    assert set(await watch.look(pages=1)) == {"t6", "t7"}
    assert await watch.look() == {}


async def test_conversations_stand_where_their_file_was_written(tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    append(old, talk("a", "It is old."))
    append(new, talk("b", "It is new."))
    written_at(old, datetime(2026, 11, 1, tzinfo=UTC))
    written_at(new, datetime(2026, 11, 20, tzinfo=UTC))
    window = Window(start=datetime(2026, 11, 10, tzinfo=UTC), end=NOON)
    assert set(await Watch(tmp_path / "*.jsonl").look(window)) == {"b"}
    assert set(await Watch(tmp_path / "*.jsonl").look()) == {"a", "b"}


async def test_a_conversation_that_goes_on_is_given_as_it_stands(tmp_path: Path) -> None:
    file, watch = tmp_path / "a.jsonl", Watch(tmp_path / "a.jsonl")
    append(file, talk("chat", "First."), talk("other", "Aside."))
    await watch.look()
    append(file, talk("chat", "Second."))
    assert await watch.look() == {"chat": 1}
    assert watch.traces[0].spans[0].output_messages[0].text == "Second."


async def test_what_cannot_be_read_is_told_once_and_the_rest_is_given(tmp_path: Path) -> None:
    file, watch = tmp_path / "a.jsonl", Watch(tmp_path / "a.jsonl")
    append(file, row(1, 0))
    with file.open("a") as stream:
        stream.write('{"secret text": \n{"neither": "fish"}\n\n')
    append(file, {**row(9, 0), "startTime": None}, row(2, 0))
    assert set(await watch.look()) == {"t1", "t2"}
    assert [problem.removeprefix(f"{file}:") for problem in watch.problems] == [
        "2: broken JSON here (expecting value); the rest was read",
        "3: this record is in no format that is known "
        "(canonical, conversation, langfuse, langsmith, openinference, otlp)",
        "5: no span of this langfuse trace can be read",
    ]
    assert not any("secret text" in problem or "fish" in problem for problem in watch.problems)
    await watch.look()
    assert watch.problems == []


async def test_windows_go_by_the_end_of_the_root_in_either_direction(tmp_path: Path) -> None:
    append(tmp_path / "a.jsonl", *(row(trace, 0) for trace in (3, 1, 4, 2)))
    start, end = NOON.replace(hour=11, minute=2, second=1), NOON.replace(hour=11, minute=4, second=1)
    forwards, backwards = Watch(tmp_path / "a.jsonl", page_size=1), Watch(tmp_path / "a.jsonl", page_size=1)
    assert list(await forwards.look(Window(start=start, end=end))) == ["t2", "t3"]
    assert [page.reached for page in forwards.pages] == [start, NOON.replace(hour=11, minute=3, second=1), end]
    assert list(await backwards.look(Window(start=start, end=end, newest_first=True), pages=1)) == ["t3"]
    append(tmp_path / "a.jsonl", *(row(trace, 0) for trace in (7, 8)))
    assert list(await backwards.look(Window(start=start, end=end, newest_first=True))) == ["t2"]


async def test_an_open_window_gives_nothing_that_ended_before_it_began(tmp_path: Path) -> None:
    file, watch = tmp_path / "a.jsonl", Watch(tmp_path / "a.jsonl")
    append(file, row(1, 0), row(5, 0))
    assert set(await watch.look(Window(start=NOON.replace(hour=11, minute=3)))) == {"t5"}
    append(file, row(2, 0), row(4, 0))
    assert set(await watch.look(Window(start=NOON))) == {"t4"}  # later starts say nothing: it was appended since


async def test_our_own_scores_are_no_traces(tmp_path: Path) -> None:
    append(tmp_path / "a.jsonl", row(1, 0))
    append(tmp_path / "scores.jsonl", {"score_id": "x"})
    watch = Watch(tmp_path / "*.jsonl", leave_out=(str(tmp_path / "scores.jsonl"),))
    assert await watch.look() == {"t1": 1}
    assert watch.problems == []


async def test_fetch_sees_what_came_after_the_look(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    append(file, row(1, 0))
    source = FilesSource(str(tmp_path / "*.jsonl"))
    assert len((await source.fetch(Origin(trace_id="t1"))).spans) == 1
    append(file, row(1, 1))
    assert len((await source.fetch(Origin(trace_id="t1"))).spans) == 2
    file.unlink()
    with pytest.raises(SkipThis):
        await source.fetch(Origin(trace_id="t1"))
    await source.close()


async def test_a_finished_file_is_not_read_again_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(tmp_path / "*.json*")
    append(tmp_path / "talks.jsonl", talk("a", "Yes."))
    (tmp_path / "export.json").write_text(json.dumps([row(1, 0)], indent=1))
    await watch.look()
    read: list[str] = []
    original = Path.open

    def spy(path: Path, *args: Any, **kwargs: Any) -> Any:
        stream = original(path, *args, **kwargs)
        if path.parent == tmp_path:
            read.append(path.name)
        return stream

    monkeypatch.setattr(Path, "open", spy)
    append(tmp_path / "new.jsonl", talk("b", "No."))
    assert set(await watch.look()) == {"b"}
    assert "export.json" not in read
    assert read.count("talks.jsonl") == 1  # only to see that it is still the same file


async def test_check_says_what_matches(tmp_path: Path) -> None:
    source = FilesSource(str(tmp_path / "*.jsonl"))
    assert [(f.state, f.message) for f in await source.check()] == [
        ("warning", f"no file matches {tmp_path}/*.jsonl yet; check `path` if one should")
    ]
    append(tmp_path / "a.jsonl", row(1, 0))
    assert [(f.state, f.message) for f in await source.check()] == [("ok", f"1 file matches {tmp_path}/*.jsonl")]
    await source.close()
