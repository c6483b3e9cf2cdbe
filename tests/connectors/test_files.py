"""Files as users have them: good, bad, compressed, huge; every record accounted for and never an exception."""

import gzip
import io
import json
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.connectors import Problem, Rejected, Trace, cut, read_traces
from groundwire.connectors.files.rows import RowGroups
from groundwire.connectors.files.values import Broken, Elements, Value, read_values

TALK = [{"role": "user", "content": "Where is order 42?"}, {"role": "assistant", "content": "It shipped."}]
DATA = Path("/work/shared/data")


def row(trace: str, span: str = "s", **more: Any) -> dict[str, Any]:
    return {"id": span, "traceId": trace, "type": "SPAN", "startTime": "2026-11-30T10:00:00Z", "name": "n", **more}


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def problems(found: list[Any]) -> list[tuple[int | None, str]]:
    return [(item.line, item.message) for item in found if isinstance(item, Problem)]


def trace_ids(found: list[Any]) -> list[str]:
    return [item.trace_id for item in found if isinstance(item, Trace)]


# --- bare conversations


@pytest.mark.parametrize("holder", ["messages", "traj", "history", "conversation"])
def test_a_record_holds_its_conversation_under_any_usual_key(holder: str, tmp_path: Path) -> None:
    record: dict[str, Any] = {"id": "t-7", holder: TALK, "reward": 1.0, "session_id": "s-1"}
    (trace,) = read_traces(write(tmp_path / "talks.jsonl", record))
    assert isinstance(trace, Trace)
    assert (trace.trace_id, trace.session_id, trace.conversation) == ("t-7", "s-1", True)
    assert trace.metadata == {"id": "t-7", "reward": 1.0, "session_id": "s-1"}
    assert trace.flags == ("no_times",)
    (span,) = trace.spans
    assert [message.text for message in span.input_messages] == ["Where is order 42?"]
    assert [message.text for message in span.output_messages] == ["It shipped."]
    assert span.attributes == {"groundwire.flags": ["no_times"]}
    assert (span.start_time.timestamp(), span.end_time and span.end_time.timestamp()) == (0.0, 0.001)


def test_a_list_of_messages_is_one_conversation_and_a_list_of_lists_is_several(tmp_path: Path) -> None:
    one = list(read_traces(write(tmp_path / "one.json", TALK)))
    assert trace_ids(one) == ["one:0"]
    assert trace_ids(list(read_traces(write(tmp_path / "many.json", [TALK, TALK])))) == ["many:0", "many:1"]
    assert trace_ids(list(read_traces(write(tmp_path / "lines.jsonl", TALK, TALK)))) == ["lines:0", "lines:1"]
    indented = tmp_path / "indented.json"
    indented.write_text(json.dumps(TALK, indent=2))
    assert trace_ids(list(read_traces(indented))) == ["indented:0"]


def test_tasks_and_numbers_are_told_apart_by_file_and_trial(tmp_path: Path) -> None:
    records: list[Any] = [{"task_id": 3, "trial": trial, "traj": TALK} for trial in (0, 1)]
    assert trace_ids(list(read_traces(write(tmp_path / "air.json", records)))) == ["air:3:0", "air:3:1"]
    records = [{"id": 7, "traj": TALK}, {"task_id": "t", "traj": TALK}, {"task_id": "t", "traj": TALK}]
    assert trace_ids(list(read_traces(write(tmp_path / "air.json", records)))) == ["air:7", "air:t", "air:t:2"]


def test_what_follows_the_answer_is_left_out_and_flagged(tmp_path: Path) -> None:
    talk = [*TALK, {"role": "user", "content": "Thanks!"}]
    (trace,) = read_traces(write(tmp_path / "t.jsonl", {"messages": talk}))
    assert isinstance(trace, Trace)
    assert trace.flags == ("no_times", "after_answer")
    assert trace.spans[0].output_messages[0].text == "It shipped."
    assert len(trace.spans[0].input_messages) == 1


def test_a_conversation_without_an_answer_is_kept_for_the_metric_to_say_so(tmp_path: Path) -> None:
    (trace,) = read_traces(write(tmp_path / "t.jsonl", {"messages": TALK[:1]}))
    assert isinstance(trace, Trace)
    assert trace.spans[0].output_messages == ()


def test_messages_with_times_keep_them(tmp_path: Path) -> None:
    talk = [{**message, "timestamp": f"2026-11-30T10:00:0{i}Z"} for i, message in enumerate(TALK)]
    (trace,) = read_traces(write(tmp_path / "t.jsonl", {"messages": talk}))
    assert isinstance(trace, Trace)
    assert (trace.flags, trace.duration) == ((), 1.0)


def test_in_a_log_of_several_agents_every_speaker_is_an_assistant(tmp_path: Path) -> None:
    log = {
        "question": "How many clients?",
        "question_ID": "q-1",
        "history": [
            {"role": "assistant", "name": "Excel_Expert", "content": "I load the file."},
            {"role": "user", "name": "Computer_terminal", "content": "exitcode: 0"},
            {"role": "user", "name": "Checker", "content": "There are 8."},
        ],
    }
    (trace,) = read_traces(write(tmp_path / "log.json", log))
    assert isinstance(trace, Trace)
    said = [
        (message.role, message.name, message.text)
        for message in (*trace.spans[0].input_messages, *trace.spans[0].output_messages)
    ]
    assert trace.trace_id == "log:q-1"
    assert said == [
        ("user", None, "How many clients?"),
        ("assistant", "Excel_Expert", "I load the file."),
        ("assistant", "Computer_terminal", "exitcode: 0"),
        ("assistant", "Checker", "There are 8."),
    ]


def test_named_people_in_an_ordinary_chat_stay_users(tmp_path: Path) -> None:
    talk = [{**TALK[0], "name": "alice"}, {**TALK[1], "name": "helper"}]
    (trace,) = read_traces(write(tmp_path / "t.json", talk))
    assert isinstance(trace, Trace)
    assert [message.role for message in trace.spans[0].input_messages] == ["user"]


# --- bad input: one clear line each, the rest still read


def test_what_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    assert problems(list(read_traces(tmp_path / "no.json"))) == [(None, "there is no such file; check the path")]
    ((line, message),) = problems(list(read_traces(tmp_path)))
    assert (line, message.partition(";")[0]) == (None, "this is a folder")
    for content in ("", " \n\n"):
        path = tmp_path / "empty.json"
        path.write_text(content)
        assert problems(list(read_traces(path))) == [(None, "the file is empty; nothing was read")]
    assert problems(list(read_traces(write(tmp_path / "list.json", [])))) == [
        (1, "the list is empty; nothing was read")
    ]


def test_a_problem_reads_as_file_line_message() -> None:
    assert str(Problem(file="a.json", line=3, message="broken")) == "a.json:3: broken"
    assert str(Problem(file="a.json", line=None, message="empty")) == "a.json: empty"


def test_a_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    good = {"id": "a", "messages": TALK}
    path = write(
        tmp_path / "t.jsonl", good, '{"id": "b", "messages": [', {**good, "id": "c"}, "oops", {**good, "id": "d"}
    )
    found = list(read_traces(path))
    assert trace_ids(found) == ["a", "c", "d"]
    assert [line for line, _ in problems(found)] == [2, 4]
    assert all("broken JSON" in message and "the rest was read" in message for _, message in problems(found))


def test_a_first_line_that_is_broken_does_not_hide_the_rest(tmp_path: Path) -> None:
    found = list(read_traces(write(tmp_path / "t.jsonl", '{"id": "a" "b"}', {"id": "c", "messages": TALK})))
    assert trace_ids(found) == ["c"]
    assert [line for line, _ in problems(found)] == [1]


def test_a_broken_record_in_an_indented_list_is_passed_over(tmp_path: Path) -> None:
    text = json.dumps([{"id": name, "messages": TALK} for name in "abc"], indent=2).replace('"id": "b",', '"id": "b"')
    path = tmp_path / "t.json"
    path.write_text(text)
    found = list(read_traces(path))
    assert trace_ids(found) == ["a", "c"]
    assert len(problems(found)) == 1


def test_a_file_that_is_cut_off_gives_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"id": name, "messages": TALK} for name in "ab"])[:-40])
    found = list(read_traces(path))
    assert trace_ids(found) == ["a"]
    ((line, message),) = problems(found)
    assert line == 1
    assert "nothing after it was read" in message
    zipped = tmp_path / "t.jsonl.gz"
    zipped.write_bytes(gzip.compress(b'{"id": "a", "messages": []}\n' * 9_000)[:-30])
    assert "damaged or cut off" in problems(list(read_traces(zipped)))[-1][1]


def test_a_conversation_with_a_broken_message_is_left_out_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", "[", '{"role": "user", "content": "Hi"},', '{"role": "assistant" "content": ""},',
                 '{"role": "assistant", "content": "Hello"}', "]")  # fmt: skip
    found = list(read_traces(path))
    assert trace_ids(found) == []
    assert [line for line, _ in problems(found)] == [3, 1]


def test_an_unknown_format_is_one_line_however_many_records(tmp_path: Path) -> None:
    found = list(read_traces(write(tmp_path / "t.jsonl", *[{"x": index} for index in range(500)])))
    assert len(found) == 2
    assert problems(found)[0][1].startswith("this record is in no format that is known (canonical, conversation,")
    assert problems(found)[1] == (None, "499 more like this: no known format")
    binary = tmp_path / "t.bin"
    binary.write_bytes(bytes(range(256)) * 40)
    assert problems(list(read_traces(binary)))


def test_a_format_that_was_asked_for_holds(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", {"id": "a", "messages": TALK}, row("t-1"))
    found = list(read_traces(path, format="langfuse"))
    assert trace_ids(found) == ["t-1"]
    assert "looks like conversation" in problems(found)[0][1]


def test_rows_without_ids_or_times_are_told(tmp_path: Path) -> None:
    found = list(read_traces(write(tmp_path / "t.jsonl", row(""), row("t-2", startTime="soon"), row("t-3"))))
    assert trace_ids(found) == ["t-3"]
    assert [message.partition(";")[0] for _, message in problems(found)] == [
        "this langfuse row names no trace",
        "no span of this langfuse trace can be read: ids or start times are missing",
    ]


def test_canonical_partitions_that_break_a_rule_are_rejected_by_name(tmp_path: Path) -> None:
    span = {"span_id": "s", "trace_id": "t", "start_time": "2026-11-30T10:00:00Z"}
    whole = {"schema": "canonical_partition_v1", "partition_type": "trace", "partition_id": "p", "trace_id": "t"}
    path = write(
        tmp_path / "p.jsonl",
        {**whole, "spans": [span]},
        {**whole, "spans": [span, {**span, "trace_id": "other"}]},
        {**whole, "spans": []},
        {**whole, "partition_type": "span", "target_span_id": "x", "spans": [span]},
        {**whole, "spans": [{"span_id": "s"}]},
    )
    found = list(read_traces(path))
    assert [item.reason for item in found if isinstance(item, Rejected)] == ["two_traces", "no_spans", "bad_target"]
    assert problems(found) == [(5, "no valid canonical partition: spans.0.trace_id: missing")]


def test_text_that_is_odd_is_cleaned_where_it_enters(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"id": "a", "n": NaN, "messages": [{"role": "user", "content": "x\\ud800y \xff"},'
        b' {"role": "assistant", "content": "ok"}]}\r\n'
    )
    (trace,) = read_traces(path)
    assert isinstance(trace, Trace)
    assert trace.spans[0].input_messages[0].text == "x\ufffdy \ufffd"
    assert trace.metadata == {"id": "a", "n": None}
    assert cut(trace, "trace")[0].model_dump_json()
    path.write_text(json.dumps({"id": "a", "messages": TALK}), encoding="utf-16")
    assert trace_ids(list(read_traces(path))) == ["a"]


def test_deep_nesting_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    for depth in (300, 50_000):
        path = write(
            tmp_path / "t.jsonl", '{"messages": ' + "[" * depth + "]" * depth + "}", {"id": "a", "messages": TALK}
        )
        found = list(read_traces(path))
        assert trace_ids(found) == ["a"]
        assert "nested too deep" in problems(found)[0][1]


def test_fifty_megabytes_of_tool_output_are_read(tmp_path: Path) -> None:
    big = "x" * 50_000_000
    talk = [TALK[0], {"role": "tool", "tool_call_id": "c", "content": big}, TALK[1]]
    for name, value in (("t.jsonl", {"id": "a", "messages": talk}), ("t.json", [{"id": "a", "messages": talk}])):
        path = tmp_path / name
        path.write_text(json.dumps(value))
        (trace,) = read_traces(path)
        assert isinstance(trace, Trace)
        tool = next(span for span in cut(trace, "trace")[0].spans if span.kind == "TOOL")
        assert len(str(tool.output)) == 50_000_000


# --- streams


def test_gzip_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.dumps({"id": "a", "messages": TALK}).encode()
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(data))  # recognised by its content, whatever its name
    assert trace_ids(list(read_traces(path))) == ["a"]
    for sent in (data, gzip.compress(data)):
        stdin = io.TextIOWrapper(io.BytesIO(sent))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert trace_ids(list(read_traces("-"))) == ["a"]
        assert not stdin.buffer.closed


def test_a_long_file_is_not_held_in_memory(tmp_path: Path) -> None:
    filler = "y" * 20_000
    talk = [{"role": "user", "content": filler}, TALK[1]]
    peaks = []
    for name, records in (("lines", 1_500), ("list", 1_500), ("rows", 3_500)):
        path = tmp_path / name
        with path.open("w") as file:
            file.write("[\n" if name == "list" else "")
            for index in range(records):
                record = row(f"t-{index}", input=filler) if name == "rows" else {"id": f"t-{index}", "messages": talk}
                file.write(("," if name == "list" and index else "") + json.dumps(record) + "\n")
            file.write("]" if name == "list" else "")
        tracemalloc.start()
        assert sum(isinstance(item, Trace) for item in read_traces(path)) == records
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks[:2]) < 3_000_000  # of 30 MB
    assert peaks[2] < 50_000_000  # of 70 MB: 32 MB of rows are held


def test_rows_of_one_trace_may_stand_anywhere(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", row("a", "1"), row("b", "1"), row("a", "2"), row("c", "1"), row("b", "2"))
    found = [item for item in read_traces(path) if isinstance(item, Trace)]
    assert [(trace.trace_id, len(trace.spans), trace.origin.rpartition(":")[2]) for trace in found] == [
        ("a", 2, "1"),
        ("b", 2, "2"),
        ("c", 1, "4"),
    ]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 99)), max_size=30), st.integers(0, 200))
def test_groups_are_the_same_in_memory_and_on_disk(rows: list[tuple[str, int]], held: int) -> None:
    expected: dict[str, list[int]] = {}
    with RowGroups(held=held) as groups:
        for line, (name, number) in enumerate(rows):
            groups.add("langfuse", name, line, {"n": number, "text": "ü\ud800"})
            expected.setdefault(name, []).append(number)
        got = [[item["n"] for item in found] for _, _, found in groups.traces()]
    assert got == list(expected.values())


class Trickle(io.StringIO):
    """A stream that gives a few characters at a time, as a pipe may."""

    def read(self, size: int | None = -1, /) -> str:
        return super().read(min(size or 1, 7))


def flat(stream: io.StringIO) -> Iterator[Value | Broken]:
    for got in read_values(stream):
        if isinstance(got, Elements):
            yield from got.items
        else:
            yield got


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=3), max_size=5), st.sampled_from([None, 1, 4]))
def test_values_are_the_same_however_they_are_laid_out(records: list[Any], indent: int | None) -> None:
    lines = "".join(json.dumps(record, indent=indent) + "\n" for record in records)
    for text in (lines, json.dumps(records, indent=indent), "[" + ",".join(json.dumps(r) for r in records) + "]"):
        got = list(flat(Trickle(text)))
        assert [item.value for item in got if isinstance(item, Value)] == records
        assert not [item for item in got if isinstance(item, Broken)]


@settings(max_examples=100)
@given(st.text(max_size=60) | st.text(alphabet='{}[]",:\n 01ae\\u', max_size=60))
def test_no_text_raises_or_hangs(text: str) -> None:
    list(flat(Trickle(text)))


# --- what people have


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
def test_every_public_log_is_read_and_accounted_for() -> None:
    counts = {}
    for name, pattern in (
        ("tau_bench", "tau_bench/*.json"),
        ("magentic", "agentrx/data/magentic_dataset/*.json"),
        ("retail", "agentrx/data/tau_retail/*_full.json"),
        ("examples", "agentrx/trajectories/*/trajectories/*.json"),
        ("trajectories", "agentrx/trajectories/tau-retail/*.json"),
        ("who_and_when", "who_and_when/Who&When/*/*.json"),
    ):
        found = [item for path in sorted(DATA.glob(pattern)) for item in read_traces(path)]
        traces = [item for item in found if isinstance(item, Trace)]
        assert len(found) == len(traces), name
        assert len({trace.trace_id for trace in traces}) == len(traces), name
        assert all(trace.spans[0].output_messages for trace in traces), name
        assert all(len(cut(trace, "trace")) == 1 for trace in traces), name
        counts[name] = len(traces)
    assert counts == {
        "tau_bench": 50, "magentic": 19, "retail": 100, "examples": 2, "trajectories": 7, "who_and_when": 91
    }  # fmt: skip
