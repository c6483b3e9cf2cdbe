"""One reader for every shape in which people's tracing stores messages."""

from collections.abc import Mapping
from typing import Any

from groundwire.connectors.messages.contents import (
    first,
    is_definition,
    is_part,
    label,
    parts_of,
    shown_response,
    tool_call,
    tool_calls,
    tool_response,
)
from groundwire.connectors.messages.decoding import decoded, without_media
from groundwire.connectors.messages.flattened import unflattened
from groundwire.connectors.messages.media import media_part
from groundwire.scorer import (
    Message,
    Part,
    ReasoningPart,
    Role,
    ToolCallPart,
    ToolCallResponsePart,
)

__all__ = ["find_messages", "is_message", "read_messages", "role_of"]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "systemmessage": "system",
    "systemmessagechunk": "system",
    "user": "user",
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "customer": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "agent": "assistant",
    "tool": "tool",
    "function": "tool",
    "toolmessage": "tool",
    "toolmessagechunk": "tool",
    "functionmessage": "tool",
}
_FLAT_TYPES = {"human", "ai", "system", "tool", "function", "chat", "AIMessageChunk", "HumanMessageChunk", "developer"}
_BODY_KEYS = frozenset(
    ("content", "parts", "contents", "tool_calls", "toolCalls", "function_call", "text", "reasoning_content")
)
_HISTORY_KEYS = ("messages", "contents", "chat_history", "input_messages", "output_messages")
_ITEM_TYPES = {"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning"}
_MAX_WRAPPERS = 8
"""Deepest nesting of containers around messages (a list in a list in an object …) that is followed."""


def role_of(name: Any) -> tuple[Role, str | None]:
    """The canonical role, and the name under which an agent spoke where its role was its name."""
    if not isinstance(name, str) or not name:
        return "assistant", None
    role = _ROLES.get(name.lower())
    return (role, None) if role is not None else ("assistant", label(name))


def is_message(value: Any) -> bool:
    """Whether a value is one message in some producer's form."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("role"), str):
        return not _BODY_KEYS.isdisjoint(value)
    kind = value.get("type")
    if kind == "constructor" and isinstance(value.get("kwargs"), dict):
        return "content" in value["kwargs"]
    if isinstance(kind, str):
        if kind in _FLAT_TYPES and ("content" in value or isinstance(value.get("data"), dict)):
            return True
        return kind in _ITEM_TYPES or (
            kind.endswith(("_call", "_call_output")) and ("id" in value or "call_id" in value)
        )
    return is_message(value.get("message")) or any(
        isinstance(key, str) and key.startswith(("message.role", "message.content")) for key in value
    )


def read_messages(value: Any, *, role: Role) -> tuple[Message, ...]:
    """The messages of a model call's input or output, whatever form they take.

    `value` may be JSON text (decoded up to twice). Text that is no messages is one message of `role`; an object that
    is none is a structured answer, its JSON the text. Nothing in, nothing out.
    """
    opened = decoded(value)
    if found := _found(opened, role, strict=False):
        return found
    if opened is None or opened in ("", [], {}):
        return ()
    said = opened if isinstance(opened, str) or not isinstance(value, str) else value
    if isinstance(opened, (list, dict)) and (is_part(opened) or _has_parts(opened)):
        said = opened
    parts, unread = parts_of(said)
    return (_message(role, parts, unread),) if parts or unread else ()


def find_messages(value: Any) -> tuple[Message, ...]:
    """The messages in a value that clearly holds some; nothing where it is plain text or data."""
    return _found(decoded(value), "user", strict=True)


def _has_parts(value: Any) -> bool:
    return isinstance(value, list) and any(is_part(item) for item in value)


def _found(value: Any, role: Role, *, strict: bool, depth: int = 0) -> tuple[Message, ...]:
    if depth > _MAX_WRAPPERS:
        return ()
    if isinstance(value, list):
        return _found_in_list(value, role, strict=strict, depth=depth)
    if isinstance(value, dict):
        if any(isinstance(key, str) and "." in key for key in value):
            value = unflattened(value)
        if is_message(value):
            return _read_one(value, role)
        return _found_in_object(value, role, strict=strict, depth=depth)
    return ()


def _found_in_list(value: list[Any], role: Role, *, strict: bool, depth: int) -> tuple[Message, ...]:
    out: list[Message] = []
    for item in value:
        if isinstance(item, dict) and any(isinstance(key, str) and "." in key for key in item):
            item = unflattened(item)
        if is_message(item):
            out += _read_one(item, role)
        elif isinstance(item, list):
            pair = len(item) == 2 and all(isinstance(piece, str) for piece in item) and item[0].lower() in _ROLES
            if pair:
                out.append(_message(_ROLES[item[0].lower()], parts_of(item[1])[0], []))
            else:
                out += _found_in_list(item, role, strict=strict, depth=depth + 1) if depth < _MAX_WRAPPERS else ()
        elif isinstance(item, dict) and (_is_choice(item) or "generations" in item):
            out += _found_in_object(item, role, strict=strict, depth=depth + 1)
    return tuple(out)


def _is_choice(item: Mapping[str, Any]) -> bool:
    if isinstance(item.get("content"), dict) and isinstance(item["content"].get("parts"), list):
        return True  # a Gemini candidate
    if isinstance(item.get("text"), str) and ("generation_info" in item or "finish_reason" in item):
        return True  # a completion
    return any(isinstance(item.get(key), dict) for key in ("message", "delta"))


def _found_in_object(value: Mapping[str, Any], role: Role, *, strict: bool, depth: int) -> tuple[Message, ...]:
    before = _instructions(value)
    for key in _HISTORY_KEYS:
        inner = decoded(value.get(key))
        if isinstance(inner, (list, dict)) and (found := _found(inner, role, strict=strict, depth=depth + 1)):
            return (*before, *found)
    for key in ("choices", "candidates", "generations"):
        if isinstance(value.get(key), list):
            return _found_in_list(value[key][:1], "assistant", strict=strict, depth=depth + 1)
    if _is_choice(value):
        return _read_choice(value, depth)
    if isinstance(value.get("llm"), dict):  # OpenInference's attributes
        return _found_in_object(value["llm"], role, strict=strict, depth=depth + 1) if depth < _MAX_WRAPPERS else ()
    if isinstance(value.get("parts"), list) and all(is_part(part) for part in value["parts"]):
        return _read_one({"role": role, **value}, role)
    return (*before, *found) if (found := _found_in_call(value, role, strict=strict, depth=depth)) else ()


def _instructions(value: Mapping[str, Any]) -> tuple[Message, ...]:
    """The system prompt that stands beside the messages: Anthropic, Gemini, Responses, the AI SDK, OpenTelemetry."""
    given = first(value, ("system", "instructions", "systemInstruction", "system_instruction", "system_instructions"))
    if isinstance(given, dict) and isinstance(given.get("parts"), list):
        given = given["parts"]
    parts, unread = parts_of(given) if isinstance(given, (str, list, dict)) else ([], [])
    return (_message("system", parts, unread),) if parts else ()


def _read_choice(value: Mapping[str, Any], depth: int) -> tuple[Message, ...]:
    inner = first(value, ("message", "delta"))
    if isinstance(inner, dict) and (found := _found(inner, "assistant", strict=False, depth=depth + 1)):
        return found
    if isinstance(inner, dict) and any(key in inner for key in _BODY_KEYS):
        return _read_one({"role": "assistant", **inner}, "assistant")
    content = value.get("content")
    if isinstance(content, dict):
        return _read_one({"role": "assistant", **content}, "assistant")
    parts, unread = parts_of(value.get("text"))
    return (_message("assistant", parts, unread),) if parts else ()


def _found_in_call(value: Mapping[str, Any], role: Role, *, strict: bool, depth: int) -> tuple[Message, ...]:
    """The rest of what a model call's arguments or reply may look like."""
    for key, of in (("input", "user"), ("output", "assistant"), ("prompt", "user"), ("response", "assistant")):
        inner = decoded(value.get(key))
        if isinstance(inner, (list, dict)):
            if found := _found(inner, "user" if of == "user" else "assistant", strict=strict, depth=depth + 1):
                return found
        elif not strict and isinstance(inner, str) and inner and _is_call(value, key):
            return (_message("user" if of == "user" else "assistant", parts_of(inner)[0], []),)
    if not strict and isinstance(value.get("prompts"), list):
        texts = [item for item in value["prompts"] if isinstance(item, str)]
        if texts:
            return tuple(_message(role, parts_of(text)[0], []) for text in texts)
    calls = first(value, ("toolCalls", "tool_calls"))
    if isinstance(value.get("text"), str) and calls is not None:  # the AI SDK's result object
        parts: list[Part] = [*parts_of(value["text"])[0], *tool_calls(calls)]
        return (_message("assistant", parts, []),) if parts else ()
    if not strict and isinstance(value.get("output_text"), str):
        return (_message("assistant", parts_of(value["output_text"])[0], []),)
    return ()


_CALL_SETTINGS = {
    "model",
    "tools",
    "instructions",
    "temperature",
    "stream",
    "system",
    "max_tokens",
    "max_output_tokens",
}


def _is_call(value: Mapping[str, Any], key: str) -> bool:
    """Whether an object with a text under `input`, `output` or `prompt` is a model call and no answer itself."""
    return len(value) == 1 or bool(_CALL_SETTINGS & set(value)) or key == "prompt"


def _message(role: Role, parts: list[Part], unread: list[str], *, name: str | None = None) -> Message:
    attributes: dict[str, Any] = {"groundwire.unread_parts": list(unread)} if unread else {}
    return Message(role=role, parts=tuple(parts), name=name, attributes=attributes)


def _read_one(value: Mapping[str, Any], default: Role) -> tuple[Message, ...]:
    """One message; none where it is a tool's definition."""
    if isinstance(value.get("message"), dict) and not isinstance(value.get("role"), str):
        return _read_one(value["message"], default) if is_message(value["message"]) else ()
    kind = value.get("type")
    if kind == "constructor" and isinstance(value.get("kwargs"), dict):
        path = value.get("id")
        spoken_by = path[-1] if isinstance(path, list) and path else value["kwargs"].get("type")
        if not isinstance(spoken_by, str) or spoken_by.lower() not in _ROLES:
            spoken_by = value["kwargs"].get("role") or value["kwargs"].get("type")
        return _read_said({**value["kwargs"], "role": spoken_by})
    if not isinstance(value.get("role"), str) and isinstance(kind, str):
        if kind in _FLAT_TYPES:
            data = value.get("data")
            said = data if isinstance(data, dict) and "content" not in value else value
            return _read_said({**said, "role": said.get("role", "assistant") if kind == "chat" else kind})
        return _read_item(value, kind)
    return _read_said(value)


def _read_item(item: Mapping[str, Any], kind: str) -> tuple[Message, ...]:
    """One item of OpenAI's Responses API."""
    if kind == "reasoning":
        return (_message("assistant", parts_of([item])[0], []),)
    if kind.endswith("_output"):
        return (_message("tool", [tool_response({**item, "id": item.get("call_id")})], []),)
    if kind == "image_generation_call":
        return (_message("assistant", [media_part(item, modality="image")], []),)
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
        return (_message("assistant", [call], []),)
    response = ToolCallResponsePart(
        id=call.id, name=call.name, response=shown_response(result), failed=bool(item.get("error"))
    )
    return (_message("assistant", [call], []), _message("tool", [response], []))


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
    return (_message(role, parts, unread, name=name),)


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
        return (_message("tool", parts, unread, name=name),)
    body = {"content": content, "status": value.get("status"), "is_error": value.get("is_error")}
    response = tool_response(body, name=name, call_id=call_id)
    shown = isinstance(content, str) or (isinstance(content, list) and isinstance(response.response, str))
    media = [part for part in parts_of(content)[0] if part.type in ("uri", "blob")] if shown else []
    return (_message("tool", [response, *media], [], name=name),)


def _is_result(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    typed = isinstance(kind, str) and (kind in ("tool-result", "tool_result", "tool_call_response"))
    return typed or any(
        isinstance(item.get(key), dict) for key in ("functionResponse", "toolResult", "function_response")
    )
