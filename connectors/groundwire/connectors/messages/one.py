"""One message in any producer's form: OpenAI, LangChain, Anthropic, Gemini, OpenTelemetry, OpenInference."""

from collections.abc import Mapping
from typing import Any

from groundwire.connectors.messages.contents import (
    first,
    is_definition,
    label,
    parts_of,
    shown_response,
    tool_call,
    tool_calls,
    tool_response,
)
from groundwire.connectors.messages.decoding import without_media
from groundwire.connectors.messages.media import media_part
from groundwire.connectors.messages.roles import FLAT_TYPES, ROLES, is_message, role_of
from groundwire.scorer import Message, Part, ReasoningPart, Role, ToolCallPart, ToolCallResponsePart

__all__ = ["message_of", "read_one"]


def message_of(role: Role, parts: list[Part], unread: list[str], *, name: str | None = None) -> Message:
    attributes: dict[str, Any] = {"groundwire.unread_parts": list(unread)} if unread else {}
    return Message(role=role, parts=tuple(parts), name=name, attributes=attributes)


def read_one(value: Mapping[str, Any], default: Role) -> tuple[Message, ...]:
    """One message; none where it is a tool's definition."""
    if isinstance(value.get("message"), dict) and not isinstance(value.get("role"), str):
        return read_one(value["message"], default) if is_message(value["message"]) else ()
    kind = value.get("type")
    if kind == "constructor" and isinstance(value.get("kwargs"), dict):
        path = value.get("id")
        spoken_by = path[-1] if isinstance(path, list) and path else value["kwargs"].get("type")
        if not isinstance(spoken_by, str) or spoken_by.lower() not in ROLES:
            spoken_by = value["kwargs"].get("role") or value["kwargs"].get("type")
        return _read_said({**value["kwargs"], "role": spoken_by})
    if not isinstance(value.get("role"), str) and isinstance(kind, str):
        if kind in FLAT_TYPES:
            data = value.get("data")
            said = data if isinstance(data, dict) and "content" not in value else value
            return _read_said({**said, "role": said.get("role", "assistant") if kind == "chat" else kind})
        return _read_item(value, kind)
    return _read_said(value)


def _read_item(item: Mapping[str, Any], kind: str) -> tuple[Message, ...]:
    """One item of OpenAI's Responses API."""
    if kind == "reasoning":
        return (message_of("assistant", parts_of([item])[0], []),)
    if kind.endswith("_output"):
        return (message_of("tool", [tool_response({**item, "id": item.get("call_id")})], []),)
    if kind == "image_generation_call":
        return (message_of("assistant", [media_part(item, modality="image")], []),)
    call = tool_call({key: value for key, value in item.items() if key not in ("output", "outputs", "results")})
    call = call.model_copy(
        update={
            "id": label(first(item, ("call_id", "id"))),
            "name": call.name or kind.removesuffix("_call"),
            "arguments": call.arguments if call.arguments is not None else without_media(first(item, _QUERY_KEYS)),
        }
    )
    result = first(item, ("output", "outputs", "results", "error"))
    if result is None:
        return (message_of("assistant", [call], []),)
    response = ToolCallResponsePart(
        id=call.id, name=call.name, response=shown_response(result), failed=bool(item.get("error"))
    )
    return (message_of("assistant", [call], []), message_of("tool", [response], []))


_QUERY_KEYS = ("action", "queries", "query", "code")


def _read_said(value: Mapping[str, Any]) -> tuple[Message, ...]:
    role, name = role_of(value.get("role"))
    name = name or label(value.get("name"))
    content = first(value, ("content", "parts", "contents", "text"))
    if role == "tool":
        return _read_tool_message(value, content, name)
    parts, unread = parts_of(content)
    thought = first(value, ("reasoning_content", "reasoning"))
    if isinstance(thought, str) and thought and not any(isinstance(part, ReasoningPart) for part in parts):
        parts.insert(0, ReasoningPart(content=without_media(thought)))
    if isinstance(refusal := value.get("refusal"), str) and refusal and not parts:
        parts += parts_of(refusal)[0]
    if role == "assistant":
        parts += _calls_beside(value, parts)
    return (message_of(role, parts, unread, name=name),)


def _calls_beside(value: Mapping[str, Any], parts: list[Part]) -> list[ToolCallPart]:
    """The calls that stand beside the content, without those that the content already holds."""
    extra = value.get("additional_kwargs")
    extra = extra if isinstance(extra, dict) else {}
    calls: list[ToolCallPart] = []
    for holder in (value, extra):
        calls = calls or tool_calls(first(holder, ("tool_calls", "toolCalls")))
    if not calls and isinstance(call := first(value, ("function_call",)) or extra.get("function_call"), Mapping):
        calls = [tool_call(call)]
    calls += tool_calls(value.get("invalid_tool_calls"))
    known = {part.id for part in parts if isinstance(part, ToolCallPart) and part.id}
    return [call for call in calls if call.id is None or call.id not in known]


def _read_tool_message(value: Mapping[str, Any], content: Any, name: str | None) -> tuple[Message, ...]:
    call_id = label(first(value, ("tool_call_id", "toolCallId", "call_id", "tool_use_id")))
    if call_id is None and is_definition(content):
        return ()
    if isinstance(content, list) and content and any(_is_result(item) for item in content):
        parts, unread = parts_of(content)
        return (message_of("tool", parts, unread, name=name),)
    body = {"content": content, "status": value.get("status"), "is_error": value.get("is_error")}
    response = tool_response(body, name=name, call_id=call_id)
    shown = isinstance(content, str) or (isinstance(content, list) and isinstance(response.response, str))
    media = [part for part in parts_of(content)[0] if part.type in ("uri", "blob")] if shown else []
    return (message_of("tool", [response, *media], [], name=name),)


def _is_result(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    typed = isinstance(kind, str) and (kind in ("tool-result", "tool_result", "tool_call_response"))
    return typed or any(
        isinstance(item.get(key), dict) for key in ("functionResponse", "toolResult", "function_response")
    )
