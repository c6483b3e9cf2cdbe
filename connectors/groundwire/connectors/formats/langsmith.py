"""LangSmith: runs as both versions of its API and its bulk exports give them, alone or with their children inside."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from groundwire.connectors.formats.spans import SpanIO, moment, newest, nonempty, prompt_named, read_io, tree_flags
from groundwire.connectors.messages import decoded, without_media
from groundwire.connectors.trace import Trace, in_time_order
from groundwire.scorer import Role, Span, SpanKind

__all__ = ["KINDS", "is_run", "rows_of", "span_of_run", "trace_of_rows"]

KINDS: dict[str, SpanKind] = {
    "llm": "LLM",
    "chain": "CHAIN",
    "tool": "TOOL",
    "retriever": "RETRIEVER",
    "embedding": "EMBEDDING",
    "prompt": "CHAIN",
    "parser": "CHAIN",
}
"""Run types as span kinds; an unknown type is a chain, as LangSmith itself treats it."""
# fmt: off
_READ = frozenset(
    (
        "ancestor_run_ids", "app_path", "attachments", "child_run_ids", "child_runs", "completion_cost",
        "completion_cost_details", "completion_token_details", "completion_tokens", "direct_child_run_ids",
        "dotted_order", "end_time", "error", "error_preview", "events", "execution_order", "extra", "feedback_stats",
        "first_token_time", "id", "in_dataset", "inputs", "inputs_preview", "inputs_s3_urls", "is_in_dataset",
        "is_root", "last_queued_at", "latency", "latency_seconds", "ls_user_id", "manifest", "manifest_id",
        "manifest_s3_id", "messages", "metadata", "modified_at", "name", "outputs", "outputs_preview",
        "outputs_s3_urls", "parent_run_id", "parent_run_ids", "price_model_id", "project_id", "project_name",
        "prompt_cost", "prompt_cost_details", "prompt_token_details", "prompt_tokens", "query_metadata",
        "reference_dataset_id", "reference_example_id", "run_type", "s3_urls", "serialized", "session_id",
        "session_name", "share_token", "share_url", "start_time", "status", "tags", "tenant_id",
        "thread_evaluation_time", "thread_id", "total_cost", "total_tokens", "trace_first_received_at", "trace_id",
        "trace_max_start_time", "trace_min_start_time", "trace_tier", "trace_upgrade", "ttl_seconds",
    )
)
# fmt: on
"""What LangSmith is known to send with a run; anything else is kept as an attribute of the span."""
_KIND_KEYS = ("openinference.span.kind", "langsmith.span.kind")
"""Metadata that tells a run's kind where LangSmith has no type for it: an agent, a guardrail, a reranker."""
_AGENT_OPERATIONS = ("invoke_agent", "create_agent")
_THREAD_KEYS = ("thread_id", "session_id", "conversation_id")
_HIDDEN = "langsmith:hidden"
"""The tag of LangGraph's internal steps."""


def is_run(record: Mapping[str, Any]) -> bool:
    """Whether a record is one run."""
    return isinstance(record.get("run_type"), str) and "id" in record and ("start_time" in record or "inputs" in record)


def rows_of(record: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """The run, then the runs inside its `child_runs`, each under the trace of the outermost."""
    if not is_run(record):
        return
    trace_id = nonempty(record.get("trace_id")) or _first_id(record) or nonempty(record.get("id"))
    stack: list[tuple[Mapping[str, Any], str | None]] = [(record, None)]
    while stack:
        run, parent = stack.pop()
        children = run.get("child_runs")
        row = {key: value for key, value in run.items() if key not in ("child_runs", "child_run_ids")}
        if parent is not None and not row.get("parent_run_id"):
            row["parent_run_id"] = parent
        yield trace_id, {**row, "trace_id": trace_id}
        if isinstance(children, list):
            stack += [
                (child, nonempty(run.get("id")))
                for child in reversed(children)
                if isinstance(child, dict) and is_run(child)
            ]


def _ordered_ids(run: Mapping[str, Any]) -> list[str]:
    """The ids in `dotted_order`, from the trace down to the run itself."""
    order = nonempty(run.get("dotted_order"))
    return [step.partition("Z")[2] for step in order.split(".")] if order else []


def _first_id(run: Mapping[str, Any]) -> str | None:
    ids = _ordered_ids(run)
    return ids[0] or None if ids else None


def _parent_id(run: Mapping[str, Any]) -> str | None:
    if found := nonempty(run.get("parent_run_id")):
        return found
    ancestors = run.get("parent_run_ids")
    if isinstance(ancestors, list) and ancestors:
        return nonempty(ancestors[-1])
    ids = _ordered_ids(run)
    return ids[-2] or None if len(ids) > 1 else None


def span_of_run(run: Mapping[str, Any], trace_id: str) -> Span | None:
    """One run as a span; None without an id or a start time."""
    span_id, start = nonempty(run.get("id")), moment(run.get("start_time"))
    if span_id is None or start is None:
        return None
    metadata = _metadata(run)
    kind = _kind(run, metadata)
    name = nonempty(run.get("name")) or ""
    input_messages, plain_input = _io(kind, run.get("inputs"), "user")
    output_messages, plain_output = _io(kind, run.get("outputs"), "assistant")
    error = nonempty(run.get("error"))
    status = str(run.get("status", "")).lower()
    attributes: dict[str, Any] = {"metadata": metadata} if metadata else {}
    if (prompt := prompt_named(metadata.get("lc_hub_repo"), metadata.get("lc_hub_commit_hash"))) is not None:
        attributes["groundwire.prompt"] = prompt
    if project := nonempty(run.get("session_id")) or nonempty(run.get("project_id")):
        attributes["langsmith.project_id"] = project
    if tags := _tags(run):
        attributes["tags"] = list(tags)
    unknown = {key: value for key, value in run.items() if key not in _READ and value is not None}
    if unknown:
        attributes |= without_media(unknown)
    return Span(
        span_id=span_id,
        trace_id=trace_id,
        parent_id=_parent_id(run),
        kind=kind,
        name=name,
        start_time=start,
        end_time=moment(run.get("end_time")),
        status="error" if error or status == "error" else "ok" if status == "success" else "unset",
        status_message=without_media(error[:2_000]) if error else "",
        input_messages=input_messages,
        output_messages=output_messages,
        input=plain_input,
        output=plain_output,
        tool_name=name if kind == "TOOL" and name else None,
        model=_model(run, metadata),
        usage=_usage(run),
        attributes=attributes,
    )


def _kind(run: Mapping[str, Any], metadata: Mapping[str, Any]) -> SpanKind:
    kind = KINDS.get(str(run.get("run_type", "")).lower(), "CHAIN")
    if kind != "CHAIN":
        return kind
    told = next((found.upper() for key in _KIND_KEYS if (found := nonempty(metadata.get(key)))), "")
    named = next((one for one in get_args(SpanKind) if one == told), None)
    if named is not None:
        return cast("SpanKind", named)
    return "AGENT" if metadata.get("gen_ai.operation.name") in _AGENT_OPERATIONS else kind


def _io(kind: SpanKind, value: Any, role: Role) -> SpanIO:
    """Inputs are a dictionary of arguments; what isn't one was wrapped as `{"output": …}` or `{"input": …}`."""
    value = decoded(value)
    if isinstance(value, dict) and len(value) == 1:
        key, inner = next(iter(value.items()))
        if key in ("input", "output") or (kind == "LLM" and isinstance(inner, str)):
            value = inner
    return read_io(kind, value, role=role)


def _metadata(run: Mapping[str, Any]) -> dict[str, Any]:
    extra = decoded(run.get("extra"))
    inside = extra.get("metadata") if isinstance(extra, dict) else None
    for found in (inside, decoded(run.get("metadata"))):
        if isinstance(found, dict) and found:
            return dict(without_media(dict(found)))
    return {}


def _model(run: Mapping[str, Any], metadata: Mapping[str, Any]) -> str | None:
    extra = decoded(run.get("extra"))
    called = extra.get("invocation_params") if isinstance(extra, dict) else None
    called = called if isinstance(called, dict) else {}
    return (
        nonempty(metadata.get("ls_model_name")) or nonempty(called.get("model")) or nonempty(called.get("model_name"))
    )


def _usage(run: Mapping[str, Any]) -> dict[str, Any] | None:
    """Tokens by kind, and `cost` in US dollars; the older API gives costs as text."""
    names = {"input": "prompt_tokens", "output": "completion_tokens", "total": "total_tokens"}
    usage = {ours: run[theirs] for ours, theirs in names.items() if isinstance(run.get(theirs), int)}
    for side, theirs in (("input", "prompt_token_details"), ("output", "completion_token_details")):
        details = run.get(theirs)
        details = details.get("raw", details) if isinstance(details, dict) else {}
        if isinstance(details, dict):
            usage |= {f"{side}_{key}": value for key, value in details.items() if isinstance(value, int)}
    cost = _number(run.get("total_cost"))
    if cost is not None:
        usage["cost"] = cost
    return usage if any(usage.values()) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _tags(run: Mapping[str, Any]) -> tuple[str, ...]:
    tags = decoded(run.get("tags"))
    return tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()


def trace_of_rows(rows: Sequence[Mapping[str, Any]], *, origin: str) -> Trace | None:
    """The trace that these runs make; None without a span. Hidden steps go, their children move up to what is shown."""
    trace_id = nonempty(rows[0].get("trace_id")) if rows else None
    if trace_id is None:
        return None
    read = [(span, run) for run in rows if (span := span_of_run(run, trace_id)) is not None]
    spans, repeated = newest([(span, moment(run.get("end_time"))) for span, run in read])
    spans = in_time_order(_without_hidden(spans))
    if not spans:
        return None
    runs = {span.span_id: run for span, run in read}
    root = next((span for span in spans if span.parent_id not in runs), spans[0])
    run = runs[root.span_id]
    metadata = _metadata(run)
    if project := nonempty(run.get("session_name")) or nonempty(run.get("project_name")):
        metadata = {**metadata, "langsmith.project": project}
    thread = nonempty(run.get("thread_id")) or next(
        (found for key in _THREAD_KEYS if (found := nonempty(metadata.get(key)))), None
    )
    return Trace(
        trace_id=trace_id,
        spans=tuple(spans),
        source="langsmith",
        origin=origin,
        session_id=thread,
        name=root.name,
        tags=_tags(run),
        user_id=nonempty(metadata.get("user_id")),
        metadata=metadata,
        feedback=_feedback(run),
        flags=(*(("duplicate_span_ids",) if repeated else ()), *tree_flags(spans)),
    )


def _feedback(run: Mapping[str, Any]) -> dict[str, float]:
    """The mean of each feedback that has one, from the run's `feedback_stats`."""
    stats = decoded(run.get("feedback_stats"))
    means = {str(key): said.get("avg") for key, said in stats.items() if isinstance(said, dict)} if stats else {}
    return {key: float(mean) for key, mean in means.items() if isinstance(mean, int | float)}


def _without_hidden(spans: Sequence[Span]) -> list[Span]:
    hidden = {
        span.span_id: span.parent_id
        for span in spans
        if _HIDDEN in _as_list(span.attributes.get("tags")) and span.parent_id is not None
    }
    out = []
    for span in spans:
        if span.span_id in hidden:
            continue
        parent, steps = span.parent_id, 0
        while parent in hidden and steps <= len(hidden):
            parent, steps = hidden[parent], steps + 1
        out.append(span if parent == span.parent_id else span.model_copy(update={"parent_id": parent}))
    return out


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
