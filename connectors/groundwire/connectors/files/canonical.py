"""Partitions that come ready-made, in the form `canonical_partition_v1`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from pydantic import ValidationError

from groundwire.connectors.messages import without_media
from groundwire.scorer import Message, Partition, PartitionType, Span

__all__ = ["Rejected", "is_canonical", "read_canonical"]

_FIELDS = {*Partition.model_fields, *Span.model_fields, *Message.model_fields, "schema"}
"""Names that a message may repeat; others may be text of the trace."""


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """A partition that says which one it is but breaks a rule of its form: it becomes a row `invalid`."""

    partition_id: str
    trace_id: str
    partition_type: PartitionType
    reason: str
    """The rule: `bad_target`, `two_traces`, `no_spans`."""
    message: str
    """One line that says what to change; no text of the trace is in it."""


def is_canonical(record: Mapping[str, Any]) -> bool:
    """Whether a record says or looks like it is a canonical partition."""
    if record.get("schema") == "canonical_partition_v1":
        return True
    return "partition_type" in record and isinstance(record.get("spans"), list)


def read_canonical(record: Mapping[str, Any]) -> Partition | Rejected | str:
    """The partition; or which rule it breaks; or, where it doesn't even say which partition it is, the faulty field."""
    try:
        partition = Partition.model_validate(without_media(record))
    except ValidationError as error:
        if (rejected := _broken_target(record)) is not None:
            return rejected
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        steps = [str(step) for step in first["loc"] if isinstance(step, int) or step in _FIELDS]
        return f"{'.'.join(steps) or 'the record'}: {first['type'].replace('_', ' ')}"
    except RecursionError:
        return "it is nested too deep"
    if not partition.spans:
        return _rejected(partition, "no_spans", "the partition has no spans; export it with its spans")
    if partition.partition_type != "session" and {span.trace_id for span in partition.spans} != {partition.trace_id}:
        return _rejected(
            partition,
            "two_traces",
            "spans of another trace stand in it; give each trace a partition, or make it a session",
        )
    return partition


def _rejected(partition: Partition, reason: str, message: str) -> Rejected:
    return Rejected(
        partition_id=partition.partition_id,
        trace_id=partition.trace_id,
        partition_type=partition.partition_type,
        reason=reason,
        message=message,
    )


def _broken_target(record: Mapping[str, Any]) -> Rejected | None:
    """The one rule that pydantic itself holds: a span partition names one of its spans."""
    kind, partition_id, trace_id = (record.get(key) for key in ("partition_type", "partition_id", "trace_id"))
    if kind not in get_args(PartitionType) or not isinstance(partition_id, str) or not isinstance(trace_id, str):
        return None
    spans = record.get("spans")
    ids = {span.get("span_id") for span in spans if isinstance(span, dict)} if isinstance(spans, list) else set()
    if kind != "span" or record.get("target_span_id") in ids:
        return None
    return Rejected(
        partition_id=partition_id,
        trace_id=trace_id,
        partition_type=cast("PartitionType", kind),
        reason="bad_target",
        message="target_span_id names no span of this partition; name one",
    )
