"""Sends groundwire's bundled OTLP traces to a Phoenix, as an application would: `send_to_phoenix.py URL PROJECT`."""

import base64
import json
import sys
from importlib.resources import files
from typing import Any

import httpx
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_IDS = ("traceId", "spanId", "parentSpanId")


def bundled() -> list[dict[str, Any]]:
    """The bundled exports, in OTLP's JSON form."""
    folder = files("groundwire.jobs.demo")
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".otlp.json")), key=lambda file: file.name)
    return [json.loads(file.read_text(encoding="utf-8")) for file in found]


def send(export: dict[str, Any], url: str, project: str) -> None:
    """Send one export by OTLP over HTTP, as protobuf: Phoenix takes no JSON."""
    request = ParseDict(_with_protobuf_ids(export), ExportTraceServiceRequest(), ignore_unknown_fields=True)
    headers = {"content-type": "application/x-protobuf", "x-project-name": project}
    httpx.post(f"{url}/v1/traces", content=request.SerializeToString(), headers=headers).raise_for_status()


def _with_protobuf_ids(value: Any) -> Any:
    """Ids are hex in OTLP's JSON, and base64 in protobuf's."""
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(inner)).decode() if key in _IDS else _with_protobuf_ids(inner)
            for key, inner in value.items()
        }
    return [_with_protobuf_ids(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    url, project = given.get(1, "http://localhost:6006"), given.get(2, "default")
    exports = bundled()
    for export in exports:
        send(export, url, project)
    sys.stdout.write(f"sent {len(exports)} traces to {url}, project {project}\n")
