"""A span told by its attributes: OpenTelemetry GenAI, OpenInference, the Vercel AI SDK, Traceloop, Langfuse."""

from collections.abc import Mapping, Sequence
from typing import Any

from groundwire.connectors.formats.langfuse import KINDS as LANGFUSE_KINDS
from groundwire.connectors.formats.spans import SpanIO, nonempty, read_io
from groundwire.connectors.messages import decoded, find_messages, read_messages, unflattened, without_media
from groundwire.scorer import Message, Role, SpanKind

__all__ = ["Attributes", "input_of", "kind_of", "model_of", "output_of", "tool_call_id_of", "tool_name_of", "usage_of"]

_KINDS = {"LLM", "TOOL", "AGENT", "RETRIEVER", "CHAIN", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "UNKNOWN"}
_OPERATIONS: dict[str, SpanKind] = {
    "chat": "LLM",
    "completion": "LLM",
    "text_completion": "LLM",
    "generate_content": "LLM",
    "generate": "LLM",
    "embeddings": "EMBEDDING",
    "invoke_agent": "AGENT",
    "create_agent": "AGENT",
    "execute_tool": "TOOL",
    "retrieval": "RETRIEVER",
    "invoke_workflow": "CHAIN",
}
"""`gen_ai.operation.name`."""
_TRACELOOP: dict[str, SpanKind] = {"workflow": "CHAIN", "task": "CHAIN", "agent": "AGENT", "tool": "TOOL"}
_LANGSMITH: dict[str, SpanKind] = {
    "llm": "LLM",
    "chain": "CHAIN",
    "tool": "TOOL",
    "retriever": "RETRIEVER",
    "embedding": "EMBEDDING",
}
_MODEL_KEYS = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "ai.model.id",
    "langfuse.observation.model.name",
    "embedding.model_name",
    "llm.request.model",
)
_USAGE_KEYS = {
    "input": (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "ai.usage.promptTokens",
    ),
    "output": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "ai.usage.completionTokens",
    ),
}
_TOOL_NAME_KEYS = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_call.function.name", "mcp.tool.name")
_TOOL_ID_KEYS = ("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id", "tool.call.id", "tool_call_id")
_TOOL_INPUT_KEYS = (
    "gen_ai.tool.call.arguments",
    "ai.toolCall.args",
    "ai.toolCall.input",
    "tool_arguments",
    "langfuse.observation.input",
    "input.value",
    "traceloop.entity.input",
    "tool.parameters",
)
_TOOL_OUTPUT_KEYS = (
    "gen_ai.tool.call.result",
    "ai.toolCall.result",
    "ai.toolCall.output",
    "tool_response",
    "langfuse.observation.output",
    "output.value",
    "traceloop.entity.output",
)
_INPUT_KEYS = (
    "gen_ai.input.messages",
    "pydantic_ai.all_messages",
    "all_messages_events",
    "ai.prompt.messages",
    "ai.prompt",
    "langfuse.observation.input",
    "langfuse.trace.input",
    "input.value",
    "gen_ai.prompt",
    "traceloop.entity.input",
    "gen_ai.agent.input",
)
_OUTPUT_KEYS = (
    "gen_ai.output.messages",
    "final_result",
    "langfuse.observation.output",
    "langfuse.trace.output",
    "output.value",
    "gen_ai.completion",
    "traceloop.entity.output",
    "ai.response.object",
    "ai.result.object",
)
_INDEXED_INPUT = ("llm.input_messages", "gen_ai.prompt", "llm.prompts")
_INDEXED_OUTPUT = ("llm.output_messages", "gen_ai.completion", "llm.completions")
_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}

Attributes = Mapping[str, Any]
"""A span's attributes under their full dotted names."""


def kind_of(attributes: Attributes) -> SpanKind:
    """The span's kind: what it says, else what its operation is, else LLM where it names a model; else UNKNOWN."""
    named = str(attributes.get("openinference.span.kind", "")).upper()
    if named in _KINDS:
        return named  # type: ignore[return-value]  # it is one of the literal's values
    if kind := LANGFUSE_KINDS.get(str(attributes.get("langfuse.observation.type", "")).upper()):
        return kind
    for key, kinds in (
        ("gen_ai.operation.name", _OPERATIONS),
        ("langsmith.span.kind", _LANGSMITH),
        ("traceloop.span.kind", _TRACELOOP),
    ):
        if kind := kinds.get(str(attributes.get(key, "")).lower()):
            return kind
    operation = str(attributes.get("ai.operationId", ""))
    if operation == "ai.toolCall":
        return "TOOL"
    if operation.startswith("ai."):
        if operation.startswith("ai.embed"):
            return "EMBEDDING"
        return "LLM" if operation.endswith((".doGenerate", ".doStream")) else "CHAIN"
    if "gen_ai.tool.name" in attributes and any(key in attributes for key in _TOOL_OUTPUT_KEYS):
        return "TOOL"
    if "llm.request.type" in attributes or any(key in attributes for key in ("gen_ai.request.model", "llm.model_name")):
        return "LLM"
    return "UNKNOWN"


def _value(attributes: Attributes, keys: Sequence[str]) -> Any:
    return next((value for key in keys if (value := attributes.get(key)) not in (None, "")), None)


def tool_name_of(attributes: Attributes) -> str | None:
    """The name of the tool that ran."""
    return nonempty(_value(attributes, _TOOL_NAME_KEYS))


def tool_call_id_of(attributes: Attributes) -> str | None:
    """The id of the call that the tool run answers."""
    return nonempty(_value(attributes, _TOOL_ID_KEYS))


def model_of(attributes: Attributes) -> str | None:
    """The model that was called."""
    return nonempty(_value(attributes, _MODEL_KEYS))


def usage_of(attributes: Attributes) -> dict[str, Any] | None:
    """Tokens in and out, as the span counts them."""
    usage = {name: _value(attributes, keys) for name, keys in _USAGE_KEYS.items()}
    return {name: value for name, value in usage.items() if value is not None} or None


def _indexed(attributes: Attributes, prefixes: Sequence[str], role: Role) -> tuple[Message, ...]:
    """Messages whose fields are attributes of their own, such as `llm.input_messages.0.message.role`."""
    for prefix in prefixes:
        held = [item for item in _list_at(attributes, prefix) if not _says_nothing(item)]
        if held:
            return read_messages(held, role=role)
    return ()


def _says_nothing(item: Any) -> bool:
    """Whether an indexed message holds nothing but its role: OpenInference leaves such at a LangGraph's root."""
    message = item.get("message", item) if isinstance(item, dict) else item
    return isinstance(message, dict) and set(message) <= {"role", "message.role"}


def _list_at(attributes: Attributes, prefix: str) -> list[Any]:
    """The list that stands under a name, or under names that begin with it."""
    start = f"{prefix}."
    own = {f"it.{key.removeprefix(start)}": value for key, value in attributes.items() if key.startswith(start)}
    held = unflattened(own).get("it") if own else attributes.get(prefix)
    return held if isinstance(held, list) else []


def _event_messages(events: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Messages sent as span events: input and output."""
    asked: list[Any] = []
    answered: list[Any] = []
    for event in events:
        name = event.get("name")
        body = event.get("attributes")
        if not isinstance(name, str) or not isinstance(body, dict):
            continue
        if name == "gen_ai.client.inference.operation.details":
            asked += _as_list(decoded(body.get("gen_ai.input.messages")))
            answered += _as_list(decoded(body.get("gen_ai.output.messages")))
        elif name in _EVENT_ROLES:
            said = {key: decoded(value) if key in ("message", "tool_calls") else value for key, value in body.items()}
            if name == "gen_ai.choice":
                answered.append(said if "message" in said else {"role": "assistant", **said})
            else:
                said.setdefault("role", _EVENT_ROLES[name])
                if name == "gen_ai.tool.message" and "id" in said:
                    said.setdefault("tool_call_id", said["id"])
                asked.append(said)
    return asked, answered


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def input_of(kind: SpanKind, attributes: Attributes, events: Sequence[Mapping[str, Any]] = ()) -> SpanIO:
    """What went into the span."""
    if kind == "TOOL":
        return (), without_media(decoded(_value(attributes, _TOOL_INPUT_KEYS)))
    asked = _event_messages(events)[0] if events else []
    found = _structured(attributes, "gen_ai.input.messages", "user") or _indexed(attributes, _INDEXED_INPUT, "user")
    found = found or find_messages(asked)
    if kind != "LLM" and found:  # an instrumentation that indexes a part of them leaves the whole in `input.value`
        whole = find_messages(_value(attributes, _INPUT_KEYS))
        found = whole if len(whole) > len(found) else found
    plain: Any = None
    if not found:
        found, plain = read_io(kind, _value(attributes, _INPUT_KEYS), role="user")
    given = decoded(attributes.get("gen_ai.system_instructions"))
    if given and found:
        found = (*read_messages(given, role="system"), *found)
    return found, plain


def _structured(attributes: Attributes, key: str, role: Role) -> tuple[Message, ...]:
    value = attributes.get(key)
    return read_messages(value, role=role) if value else ()


def output_of(kind: SpanKind, attributes: Attributes, events: Sequence[Mapping[str, Any]] = ()) -> SpanIO:
    """What came out of the span."""
    if kind == "TOOL":
        return read_io(kind, _value(attributes, _TOOL_OUTPUT_KEYS), role="tool")
    answered = _event_messages(events)[1] if events else []
    found = _structured(attributes, "gen_ai.output.messages", "assistant")
    found = found or _indexed(attributes, _INDEXED_OUTPUT, "assistant") or find_messages(answered)
    found = found or _vercel_output(attributes)
    if found:
        return found, None
    documents = _documents(attributes)
    if documents:
        return (), documents
    return read_io(kind, _value(attributes, _OUTPUT_KEYS), role="assistant")


def _vercel_output(attributes: Attributes) -> tuple[Message, ...]:
    text = _value(attributes, ("ai.response.text", "ai.result.text"))
    calls = _value(attributes, ("ai.response.toolCalls", "ai.result.toolCalls"))
    if text is None and calls is None:
        return ()
    return read_messages({"role": "assistant", "content": text, "tool_calls": calls}, role="assistant")


def _documents(attributes: Attributes) -> list[Any]:
    """What a retriever found: `retrieval.documents.0.document.content` and its neighbours."""
    for prefix in ("retrieval.documents", "reranker.output_documents"):
        if held := _list_at(attributes, prefix):
            found = [unflattened(item) if isinstance(item, dict) else item for item in held]
            return [without_media(item.get("document", item) if isinstance(item, dict) else item) for item in found]
    return []
