"""The canonical form: a JSON round trip, unknown fields kept, and one model per part."""

import json

import pytest
from pydantic import ValidationError

from groundwire.scorer.partition import Message, Partition, TextPart, ToolCallResponsePart

DATA = {
    "schema": "canonical_partition_v1",
    "partition_type": "trace",
    "partition_id": "p",
    "trace_id": "t",
    "made_by": "us",
    "spans": [
        {
            "span_id": "a",
            "trace_id": "t",
            "kind": "LLM",
            "name": "chat",
            "start_time": "2026-11-30T10:00:00Z",
            "vendor.field": {"x": 1},
            "attributes": {"kept": True},
            "input_messages": [
                {
                    "role": "tool",
                    "parts": [
                        {"type": "tool_call_response", "id": "1", "response": {"ü": "É"}},
                        {"type": "text", "content": "hi", "lang": "en"},
                        {"type": "uri", "uri": "https://example.org/a.png", "modality": "image"},
                    ],
                }
            ],
        }
    ],
}


def test_json_goes_in_and_comes_out_with_nothing_lost() -> None:
    partition = Partition.model_validate(DATA)
    assert partition.attributes == {"made_by": "us"}
    [span] = partition.spans
    assert span.attributes == {"vendor.field": {"x": 1}, "kept": True}
    response, text, _ = span.input_messages[0].parts
    assert isinstance(response, ToolCallResponsePart)
    assert response.response == {"ü": "É"}
    assert isinstance(text, TextPart)
    assert text.attributes == {"lang": "en"}
    written = partition.model_dump_json(by_alias=True)
    assert json.loads(written)["schema"] == "canonical_partition_v1"
    assert Partition.model_validate_json(written) == partition


def test_opentelemetrys_older_word_for_a_response_is_read() -> None:
    message = Message.model_validate({"role": "tool", "parts": [{"type": "tool_call_response", "result": 5}]})
    part = message.parts[0]
    assert isinstance(part, ToolCallResponsePart)
    assert part.response == 5


def test_a_span_partition_names_one_of_its_spans() -> None:
    with pytest.raises(ValidationError, match="target_span_id"):
        Partition.model_validate({**DATA, "partition_type": "span", "target_span_id": "zzz"})


def test_partitions_are_frozen() -> None:
    partition = Partition.model_validate(DATA)
    with pytest.raises(ValidationError):
        partition.trace_id = "other"
