"""A real Phoenix for the tests: started on loopback, sent spans by OTLP, and asked what stands on it."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from groundwire.connectors import Trace
from groundwire.connectors.formats.otel import status_of
from groundwire.connectors.formats.otlp import plain_attributes
from groundwire.connectors.phoenix.spans import number_of
from groundwire.scorer import Message, Span, ToolCallPart, ToolCallResponsePart

VARIABLE = "GROUNDWIRE_TEST_PHOENIX"
"""The address of a running Phoenix, or the `phoenix` command of an environment that it is installed in."""
_CODES = (trace_pb2.Status.STATUS_CODE_UNSET, trace_pb2.Status.STATUS_CODE_OK, trace_pb2.Status.STATUS_CODE_ERROR)
_STATES = ("unset", "ok", "error")
_STARTS_WITHIN = 180.0
_STORED_WITHIN = 60.0


class Phoenix:
    """One server, as its applications and its people use it."""

    def __init__(self, url: str, *, key: str | None = None) -> None:
        self.url = url
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self.http = httpx.Client(base_url=url, timeout=60.0, headers=headers)

    def new_project(self) -> str:
        """The name of a project that is empty."""
        name = f"test-{uuid4().hex[:12]}"
        self.http.post("/v1/projects", json={"name": name}).raise_for_status()
        return name

    def delete_project(self, project: str) -> None:
        """Delete a project with all that is in it: the ids of its traces and spans can be used again."""
        answer = self.http.delete(f"/v1/projects/{project}")
        assert answer.status_code in (204, 404)

    def send(self, project: str, spans: Sequence[trace_pb2.Span]) -> None:
        """Send spans by OTLP, and wait until the last of them can be read."""
        self.export(project, spans)
        wanted = {span.span_id.hex() for span in spans}
        deadline = time.monotonic() + _STORED_WITHIN
        while wanted:
            known = self.spans(project, trace_id=sorted({span.trace_id.hex() for span in spans}))
            wanted -= {span["context"]["span_id"] for span in known}
            assert time.monotonic() < deadline, "Phoenix has not stored what it took"
            if wanted:
                time.sleep(0.02)

    def export(self, project: str, spans: Sequence[trace_pb2.Span]) -> None:
        """Send spans by OTLP."""
        resource_spans = trace_pb2.ResourceSpans(scope_spans=[trace_pb2.ScopeSpans(spans=spans)])
        resource_spans.resource.attributes.append(_attribute("openinference.project.name", project))
        request = ExportTraceServiceRequest(resource_spans=[resource_spans])
        headers = {"content-type": "application/x-protobuf"}
        self.http.post("/v1/traces", content=request.SerializeToString(), headers=headers).raise_for_status()

    def spans(self, project: str, **params: Any) -> list[dict[str, Any]]:
        """The spans of a project, as its REST API gives them."""
        return self._all(f"/v1/projects/{project}/spans", {"limit": 1000, **params})

    def put(self, project: str, trace: Trace) -> None:
        """Send a trace, or more of it; a span that is there is deleted first, because Phoenix keeps the first."""
        known = {span["context"]["span_id"] for span in self.spans(project, trace_id=[trace.trace_id])}
        for span in trace.spans:
            if span.span_id in known:
                self.http.delete(f"/v1/spans/{span.span_id}").raise_for_status()
        self.send(project, [span_of(span, trace) for span in trace.spans])

    def annotations(self, project: str, kind: str = "trace") -> list[dict[str, Any]]:
        """Every annotation of that kind (`span`, `trace`, `session`), in the order of its making."""
        path = f"/v1/projects/{project}/{kind}_annotations"
        if kind == "session":
            known = [one["session_id"] for one in self._all(f"/v1/projects/{project}/sessions", {"limit": 1000})]
        else:
            spans = self.spans(project)
            known = sorted({span["context"][f"{kind}_id"] for span in spans})
        found: list[dict[str, Any]] = []
        for at in range(0, len(known), 100):
            found += self._all(path, {f"{kind}_ids": known[at : at + 100], "limit": 1000})
        return sorted(found, key=number_of)

    def _all(self, path: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            answer = self.http.get(path, params={**params, **({"cursor": cursor} if cursor else {})})
            if answer.status_code == 404:
                return found
            answer.raise_for_status()
            body = answer.json()
            found += body["data"]
            cursor = body.get("next_cursor")
            if cursor is None:
                return found


@contextmanager
def serving(command: str, folder: Path, *, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start the server on a free port of loopback with an empty database; gives its address."""
    port, grpc = _free_port(), _free_port()
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PHOENIX_")},
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        **(environment or {}),
    }
    url = f"http://127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([command, "serve"], env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait_for(url, server)
            yield url
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def _wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _STARTS_WITHIN
    while time.monotonic() < deadline:
        assert server.poll() is None, "Phoenix ended before it was up"
        try:
            if httpx.get(f"{url}/healthz", timeout=5.0).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError("Phoenix isn't up in time")


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def spans_of_export(export: Mapping[str, Any]) -> list[trace_pb2.Span]:
    """The spans of an OTLP export in its JSON form, with their resource's attributes put on them."""
    found = []
    for resource_spans in export["resourceSpans"]:
        for scope_spans in resource_spans["scopeSpans"]:
            for span in scope_spans["spans"]:
                made = trace_pb2.Span(
                    trace_id=bytes.fromhex(span["traceId"]),
                    span_id=bytes.fromhex(span["spanId"]),
                    parent_span_id=bytes.fromhex(span.get("parentSpanId") or ""),
                    name=span["name"],
                    start_time_unix_nano=int(span["startTimeUnixNano"]),
                    end_time_unix_nano=int(span["endTimeUnixNano"]),
                    attributes=[_attribute(key, value) for key, value in plain_attributes(span["attributes"]).items()],
                )
                made.status.code = _CODES[_STATES.index(status_of(span.get("status", {}).get("code")))]
                found.append(made)
    return found


def spans_of_records(records: Sequence[Mapping[str, Any]]) -> list[trace_pb2.Span]:
    """The spans of records as Phoenix exports them."""
    found = []
    for record in records:
        attributes = {"openinference.span.kind": record["span_kind"], **_flat(record["attributes"])}
        made = trace_pb2.Span(
            trace_id=bytes.fromhex(record["context"]["trace_id"]),
            span_id=bytes.fromhex(record["context"]["span_id"]),
            parent_span_id=bytes.fromhex(record["parent_id"] or ""),
            name=record["name"],
            start_time_unix_nano=_nanoseconds(datetime.fromisoformat(record["start_time"])),
            end_time_unix_nano=_nanoseconds(datetime.fromisoformat(record["end_time"])),
            attributes=[_attribute(key, value) for key, value in attributes.items()],
        )
        made.status.code = _CODES[_STATES.index(status_of(record["status_code"]))]
        found.append(made)
    return found


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            flat |= _flat(inner, f"{prefix}{key}.")
        elif isinstance(inner, list) and any(isinstance(item, dict) for item in inner):
            for at, item in enumerate(inner):
                flat |= _flat(item, f"{prefix}{key}.{at}.")
        elif inner is not None:
            flat[f"{prefix}{key}"] = inner
    return flat


def span_of(span: Span, trace: Trace | None = None) -> trace_pb2.Span:
    """A span as OpenInference's instrumentations send it."""
    attributes: dict[str, Any] = {"openinference.span.kind": span.kind, **span.attributes}
    if span.kind == "LLM":
        attributes |= _messages("llm.input_messages", span.input_messages)
        attributes |= _messages("llm.output_messages", span.output_messages)
    else:
        attributes |= _value("input", span.input_messages, span.input)
        attributes |= _value("output", span.output_messages, span.output)
    if span.model:
        attributes["llm.model_name"] = span.model
    if span.kind == "TOOL":
        attributes["tool.name"] = span.tool_name or span.name
    if trace is not None:
        told = {"session.id": trace.session_id, "user.id": trace.user_id, "tag.tags": list(trace.tags) or None}
        attributes |= {key: value for key, value in told.items() if value is not None}
        if trace.metadata and span.parent_id is None:
            attributes["metadata"] = json.dumps(dict(trace.metadata))
    made = trace_pb2.Span(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_id or ""),
        name=span.name,
        start_time_unix_nano=_nanoseconds(span.start_time),
        end_time_unix_nano=_nanoseconds(span.end_time or span.start_time),
        attributes=[_attribute(key, value) for key, value in attributes.items()],
    )
    made.status.code = _CODES[_STATES.index(span.status)]
    made.status.message = span.status_message
    return made


def _messages(prefix: str, messages: Sequence[Message]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for at, message in enumerate(messages):
        start = f"{prefix}.{at}.message"
        told[f"{start}.role"] = message.role
        if message.text:
            told[f"{start}.content"] = message.text
        calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        for number, asked in enumerate(calls):
            call = f"{start}.tool_calls.{number}.tool_call"
            told[f"{call}.id"] = asked.id or ""
            told[f"{call}.function.name"] = asked.name
            told[f"{call}.function.arguments"] = json.dumps(asked.arguments)
        for part in message.parts:
            if isinstance(part, ToolCallResponsePart):
                told[f"{start}.content"] = json.dumps(part.response)
                told[f"{start}.tool_call_id"] = part.id or ""
                told[f"{start}.name"] = part.name or ""
    return told


def _value(side: str, messages: Sequence[Message], plain: Any) -> dict[str, Any]:
    if messages:
        return {f"{side}.value": messages[-1].text, f"{side}.mime_type": "text/plain"}
    if plain is None:
        return {}
    if isinstance(plain, str):
        return {f"{side}.value": plain, f"{side}.mime_type": "text/plain"}
    return {f"{side}.value": json.dumps(plain), f"{side}.mime_type": "application/json"}


def _attribute(key: str, value: Any) -> KeyValue:
    return KeyValue(key=key, value=_any(value))


def _any(value: Any) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case list():
            made = AnyValue()
            made.array_value.values.extend(_any(item) for item in value)
            return made
        case _:
            return AnyValue(string_value=value if isinstance(value, str) else json.dumps(value))


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1_000
