"""A folder of files keeps the contract of connectors: Langfuse rows, canonical partitions, a document rewritten."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from groundwire.connectors.base import Sink, Source
from groundwire.connectors.files.sink import FilesSink
from groundwire.connectors.files.source import FilesSource
from groundwire.connectors.testing import ConnectorContract, Shown
from groundwire.connectors.trace import Trace
from groundwire.scorer import Message, Partition, Span, TextPart, ToolCallPart, ToolCallResponsePart

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Folder:
    """A folder as the contract's tests want it."""

    secrets: Sequence[str] = ()
    speaks_http = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def now(self) -> datetime:
        return NOW

    def put(self, trace: Trace) -> None:
        raise NotImplementedError

    def source(self, *, page_size: int) -> Source:
        return FilesSource(str(self.folder / "*.json*"), page_size=page_size, clock=self.now)

    def sink(self) -> Sink:
        return FilesSink(self.folder / "scores.out")

    def scores(self) -> list[Shown]:
        path = self.folder / "scores.out"
        lines = path.read_text().splitlines() if path.exists() else []
        return [
            Shown(score_id=row["score_id"], name=row["name"], value=row["value"], comment=row["comment"])
            for row in map(json.loads, lines)
        ]

    def fail(self, status: int, *, retry_after: float | None = None) -> None:
        raise NotImplementedError

    def append(self, name: str, *records: Any) -> None:
        with (self.folder / name).open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(record) + "\n" for record in records)


class Partitions(Folder):
    """Each put is a canonical partition on a line of its own."""

    def put(self, trace: Trace) -> None:
        partition = Partition(
            partition_type="trace", partition_id=trace.trace_id, trace_id=trace.trace_id, spans=trace.spans
        )
        self.append("traces.jsonl", json.loads(partition.model_dump_json(by_alias=True)))


class LangfuseRows(Folder):
    """Each span is a row; every other one goes to a second file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.writes = 0

    def put(self, trace: Trace) -> None:
        for span in trace.spans:
            self.writes += 1
            self.append(f"rows-{self.writes % 2}.jsonl", _row(span, self.writes))


class Document(Folder):
    """One JSON array over many lines that is written anew by every put."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.rows: list[dict[str, Any]] = []

    def put(self, trace: Trace) -> None:
        self.rows += [_row(span, len(self.rows) + at) for at, span in enumerate(trace.spans)]
        path = self.folder / "export.json"
        path.write_text(json.dumps(self.rows, indent=2))
        os.utime(path, ns=(len(self.rows) * 10**9, len(self.rows) * 10**9))


_TYPES = {"LLM": "GENERATION", "TOOL": "TOOL", "AGENT": "AGENT"}


def _row(span: Span, number: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        **span.attributes,
        "id": span.span_id,
        "traceId": span.trace_id,
        "type": _TYPES[span.kind],
        "name": span.name,
        "startTime": span.start_time.isoformat(),
        "endTime": span.end_time.isoformat() if span.end_time else None,
        "updatedAt": datetime.fromtimestamp(1_700_000_000 + number, UTC).isoformat(),
        "parentObservationId": span.parent_id,
        "level": "DEFAULT",
        "input": json.dumps([_openai(message) for message in span.input_messages] or span.input),
        "output": json.dumps([_openai(message) for message in span.output_messages] or span.output),
    }
    return row


def _openai(message: Message) -> dict[str, Any]:
    for part in message.parts:
        if isinstance(part, ToolCallResponsePart):
            return {"role": "tool", "tool_call_id": part.id, "name": part.name, "content": json.dumps(part.response)}
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": json.dumps(part.arguments)}}
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    return {"role": message.role, "content": text, **({"tool_calls": calls} if calls else {})}


class TestPartitions(ConnectorContract):
    @pytest.fixture
    def platform(self, tmp_path: Path) -> Folder:
        return Partitions(tmp_path)


class TestLangfuseRows(ConnectorContract):
    @pytest.fixture
    def platform(self, tmp_path: Path) -> Folder:
        return LangfuseRows(tmp_path)


class TestDocument(ConnectorContract):
    @pytest.fixture
    def platform(self, tmp_path: Path) -> Folder:
        return Document(tmp_path)
