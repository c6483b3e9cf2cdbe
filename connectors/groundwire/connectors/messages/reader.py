"""The messages in a value: alone, in lists and in whatever objects producers wrap around them."""

from collections.abc import Mapping
from typing import Any

from groundwire.connectors.messages.contents import first, is_part, parts_of, tool_calls
from groundwire.connectors.messages.decoding import decoded
from groundwire.connectors.messages.flattened import unflattened
from groundwire.connectors.messages.one import message_of, read_one
from groundwire.connectors.messages.roles import BODY_KEYS, ROLES, is_message
from groundwire.scorer import Message, Part, Role

__all__ = ["find_messages", "read_messages"]

_HISTORY_KEYS = ("messages", "contents", "chat_history", "input_messages", "output_messages")
_MAX_WRAPPERS = 8
"""Deepest nesting of containers around messages (a list in a list in an object …) that is followed."""


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
    return (message_of(role, parts, unread),) if parts or unread else ()


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
            return read_one(value, role)
        return _found_in_object(value, role, strict=strict, depth=depth)
    return ()


def _found_in_list(value: list[Any], role: Role, *, strict: bool, depth: int) -> tuple[Message, ...]:
    out: list[Message] = []
    for item in value:
        if isinstance(item, dict) and any(isinstance(key, str) and "." in key for key in item):
            item = unflattened(item)
        if is_message(item):
            out += read_one(item, role)
        elif isinstance(item, list):
            pair = len(item) == 2 and all(isinstance(piece, str) for piece in item) and item[0].lower() in ROLES
            if pair:
                out.append(message_of(ROLES[item[0].lower()], parts_of(item[1])[0], []))
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
        return read_one({"role": role, **value}, role)
    return (*before, *found) if (found := _found_in_call(value, role, strict=strict, depth=depth)) else ()


def _instructions(value: Mapping[str, Any]) -> tuple[Message, ...]:
    """The system prompt that stands beside the messages: Anthropic, Gemini, Responses, the AI SDK, OpenTelemetry."""
    given = first(value, ("system", "instructions", "systemInstruction", "system_instruction", "system_instructions"))
    if isinstance(given, dict) and isinstance(given.get("parts"), list):
        given = given["parts"]
    parts, unread = parts_of(given) if isinstance(given, (str, list, dict)) else ([], [])
    return (message_of("system", parts, unread),) if parts else ()


def _read_choice(value: Mapping[str, Any], depth: int) -> tuple[Message, ...]:
    inner = first(value, ("message", "delta"))
    if isinstance(inner, dict) and (found := _found(inner, "assistant", strict=False, depth=depth + 1)):
        return found
    if isinstance(inner, dict) and any(key in inner for key in BODY_KEYS):
        return read_one({"role": "assistant", **inner}, "assistant")
    content = value.get("content")
    if isinstance(content, dict):
        return read_one({"role": "assistant", **content}, "assistant")
    parts, unread = parts_of(value.get("text"))
    return (message_of("assistant", parts, unread),) if parts else ()


def _found_in_call(value: Mapping[str, Any], role: Role, *, strict: bool, depth: int) -> tuple[Message, ...]:
    """The rest of what a model call's arguments or reply may look like."""
    for key, of in (("input", "user"), ("output", "assistant"), ("prompt", "user"), ("response", "assistant")):
        inner = decoded(value.get(key))
        if isinstance(inner, (list, dict)):
            if found := _found(inner, "user" if of == "user" else "assistant", strict=strict, depth=depth + 1):
                return found
        elif not strict and isinstance(inner, str) and inner and _is_call(value, key):
            return (message_of("user" if of == "user" else "assistant", parts_of(inner)[0], []),)
    if not strict and isinstance(value.get("prompts"), list):
        texts = [item for item in value["prompts"] if isinstance(item, str)]
        if texts:
            return tuple(message_of(role, parts_of(text)[0], []) for text in texts)
    calls = first(value, ("toolCalls", "tool_calls"))
    if isinstance(value.get("text"), str) and calls is not None:  # the AI SDK's result object
        parts: list[Part] = [*parts_of(value["text"])[0], *tool_calls(calls)]
        return (message_of("assistant", parts, []),) if parts else ()
    if not strict and isinstance(value.get("output_text"), str):
        return (message_of("assistant", parts_of(value["output_text"])[0], []),)
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
