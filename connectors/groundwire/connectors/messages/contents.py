"""The content of one message: text, reasoning, tool calls, tool results and media, in every provider's form."""

from collections.abc import Callable, Mapping
from typing import Any

from groundwire.connectors.messages.decoding import as_json, clean_text, decoded, without_media
from groundwire.connectors.messages.media import MEDIA_TYPES, media_part, split_media
from groundwire.scorer import (
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)

__all__ = [
    "first",
    "is_definition",
    "is_part",
    "label",
    "parts_of",
    "text_parts",
    "tool_call",
    "tool_calls",
    "tool_response",
]

_TEXT_TYPES = {"text", "input_text", "output_text", "summary_text", "text_delta", "refusal", "markdown"}
_REASONING_TYPES = {"reasoning", "thinking", "redacted_thinking", "reasoning_content", "reasoning_text"}
_CALL_TYPES = {"tool_call", "tool-call", "tool_use", "server_tool_use", "mcp_tool_use", "function_call", "functionCall"}
_RESULT_TYPES = {"tool_call_response", "tool-result", "tool_result", "function_response", "functionResponse"}
_SILENT_TYPES = {"step-start", "source-url", "source-document", "non_standard", "cachePoint"}
_ID_KEYS = ("id", "tool_call_id", "toolCallId", "call_id", "tool_use_id", "toolUseId", "callId")
_ARGUMENT_KEYS = ("arguments", "args", "input", "parameters")
_RESPONSE_KEYS = ("response", "result", "output", "content", "results", "outputs")
_WRAPPERS = {
    "tool_call": "tool_call",
    "message_content": "part",
    "toolUse": "tool_call",
    "functionCall": "tool_call",
    "function_call": "tool_call",
    "toolResult": "result",
    "functionResponse": "result",
    "function_response": "result",
}
"""Keys that hold the part itself: OpenInference, Bedrock and Gemini."""
_BARE_MEDIA = ("inlineData", "inline_data", "fileData", "file_data", "image", "video", "document", "audio")


def first(mapping: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first of the keys that is there and isn't None."""
    for key in keys:  # a loop, because it runs many times for each message and a generator takes twice as long
        if (value := mapping.get(key)) is not None:
            return value
    return None


def label(value: Any) -> str | None:
    """A name or an id as text; None where it is none or empty."""
    if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
        return None
    return str(without_media(clean_text(str(value))))


def text_parts(text: str) -> list[Part]:
    """A text as its parts: the words, then the placeholders of media that stood inline."""
    if not text:
        return []
    bare, media = split_media(clean_text(text))
    return [TextPart(content=bare), *media]


def is_part(value: Any) -> bool:
    """Whether a value is a content part in some provider's form."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if isinstance(kind, str):
        return kind in _PART_READERS or kind in _SILENT_TYPES or _is_tool_kind(kind)
    if "role" in value:
        return False
    return any(isinstance(value.get(key), dict) for key in (*_WRAPPERS, *_BARE_MEDIA)) or (
        isinstance(value.get("text"), str) and set(value) <= {"text", "thought", "thoughtSignature"}  # Gemini, Bedrock
    )


def _is_block(value: Any) -> bool:
    """Whether an element of a tool's result is a content block and not a record of the tool's own."""
    if not is_part(value):
        return False
    kind = value.get("type")
    if kind in _TEXT_TYPES:
        return isinstance(value.get("text"), str)
    if kind in MEDIA_TYPES:
        return any(isinstance(value.get(key), (str, dict)) for key in ("source", "data", "image_url", "input_audio"))
    return kind is None or kind == "search_result"


def _is_tool_kind(kind: str) -> bool:
    return kind.endswith("_tool_result") or kind.startswith("tool-") or kind in ("dynamic-tool", "tool-invocation")


def parts_of(content: Any) -> tuple[list[Part], list[str]]:
    """The parts of a message's content in order, and the types of those that nothing here can read.

    A string is text; a list is read part by part; an object that is no part is a structured answer: its JSON is text.
    """
    if content is None or content == "":
        return [], []
    if isinstance(content, str):
        packed = decoded(content, times=1) if content.lstrip()[:2] in ("[{", "[ ", "[\n") else content
        if isinstance(packed, list) and packed and all(is_part(item) and "type" in item for item in packed):
            return parts_of(packed)
        return text_parts(content), []
    if isinstance(content, dict):
        if is_part(content):
            return _read_part(content)
        return text_parts(as_json(content)), []
    if isinstance(content, list):
        return _read_list(content)
    return text_parts(as_json(content)), []


def _read_list(content: list[Any]) -> tuple[list[Part], list[str]]:
    if content and not any(isinstance(item, str) or is_part(item) or _is_typed(item) for item in content):
        return text_parts(as_json(content)), []
    parts: list[Part] = []
    unread: list[str] = []
    for item in content:
        if isinstance(item, str):
            parts += text_parts(item)
        elif isinstance(item, dict):
            more, missed = _read_part(item)
            parts += more
            unread += missed
    return parts, unread


def _is_typed(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str)


def _read_part(part: Mapping[str, Any]) -> tuple[list[Part], list[str]]:
    kind = part.get("type")
    if not isinstance(kind, str):
        return _read_untyped(part)
    if reader := _PART_READERS.get(kind):
        return reader(part), []
    if kind in _SILENT_TYPES:
        return [], []
    if kind.endswith("_tool_result"):
        return [tool_response(part)], []
    if _is_tool_kind(kind):
        return _ui_tool(part, kind), []
    return [], [kind if kind.isidentifier() and len(kind) <= 40 else "unknown"]


def _read_untyped(part: Mapping[str, Any]) -> tuple[list[Part], list[str]]:
    for key, what in _WRAPPERS.items():
        inner = part.get(key)
        if isinstance(inner, dict):
            if what == "tool_call":
                return [tool_call(inner)], []
            return ([tool_response(inner)], []) if what == "result" else _read_part(inner)
    if any(isinstance(part.get(key), dict) for key in _BARE_MEDIA):
        key = next(key for key in _BARE_MEDIA if isinstance(part.get(key), dict))
        return [media_part(part, modality=MEDIA_TYPES.get(key, "unknown"))], []
    if isinstance(text := part.get("text"), str):
        return ([ReasoningPart(content=without_media(text))] if part.get("thought") is True else text_parts(text)), []
    return text_parts(as_json(part)), []


def _read_text(part: Mapping[str, Any]) -> list[Part]:
    text = first(part, ("text", "content", "refusal", "value"))
    if isinstance(text, dict):  # the Assistants API: {"text": {"value": …, "annotations": […]}}
        text = text.get("value")
    return text_parts(text) if isinstance(text, str) else []


def _read_reasoning(part: Mapping[str, Any]) -> list[Part]:
    text = first(part, ("thinking", "reasoning", "text", "content", "summary"))
    if isinstance(text, list):
        pieces = [piece.get("text") if isinstance(piece, dict) else piece for piece in text]
        text = "\n".join(piece for piece in pieces if isinstance(piece, str))
    return [ReasoningPart(content=without_media(text))] if isinstance(text, str) and text else []


def _read_media(part: Mapping[str, Any]) -> list[Part]:
    kind = str(part.get("type"))
    source = part.get("source")
    if isinstance(source, dict) and source.get("type") in ("text", "content"):  # Anthropic: a document given as text
        words = source.get("data") if source.get("type") == "text" else source.get("content")
        return parts_of(words)[0]
    return [media_part(part, modality=MEDIA_TYPES[kind])]


def _read_search_result(part: Mapping[str, Any]) -> list[Part]:
    return parts_of(part.get("content"))[0]


def tool_call(call: Mapping[str, Any]) -> ToolCallPart:
    """One request for a tool, in any form; arguments that are JSON text become what they say."""
    inner = call.get("tool_call")
    if isinstance(inner, dict):
        call = {**call, **inner}
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    name = label(first(function, ("name",))) or label(first(call, ("name", "toolName", "tool_name", "tool")))
    arguments = first(function, _ARGUMENT_KEYS)
    if arguments is None:
        arguments = first(call, _ARGUMENT_KEYS)
    return ToolCallPart(
        id=label(first(call, _ID_KEYS)),
        name=name or "",
        arguments=without_media(decoded(arguments)),
    )


def tool_calls(value: Any) -> list[ToolCallPart]:
    """A message's `tool_calls`: a list, one object, or either as JSON text."""
    value = decoded(value)
    if isinstance(value, dict):
        value = [value]
    return [tool_call(call) for call in value if isinstance(call, dict)] if isinstance(value, list) else []


def tool_response(
    part: Mapping[str, Any], *, name: str | None = None, call_id: str | None = None
) -> ToolCallResponsePart:
    """One tool result, in any form. Its text is kept as it was shown; content blocks that are all text are joined."""
    body = first(part, _RESPONSE_KEYS)
    failed = part.get("is_error") is True or part.get("isError") is True or part.get("status") in ("error", "failed")
    if isinstance(body, dict) and isinstance(body.get("type"), str) and set(body) <= {"type", "value"}:
        failed = failed or str(body["type"]).startswith("error")  # Vercel AI SDK 5: {"type": "error-text", "value": …}
        body = body.get("value")
    if part.get("errorText") and body is None:
        failed, body = True, part.get("errorText")
    return ToolCallResponsePart(
        id=label(first(part, _ID_KEYS)) or call_id,
        name=label(first(part, ("name", "toolName", "tool_name"))) or name,
        response=shown_response(body),
        failed=failed,
    )


def shown_response(body: Any) -> Any:
    """A tool's result as the model was shown it: content blocks become their text, anything else stays."""
    if isinstance(body, list) and body and all(_is_block(item) for item in body):
        parts, _ = parts_of(body)
        texts = [part.content for part in parts if isinstance(part, TextPart)]
        media = [f"[{part.mime_type or part.modality}]" for part in parts if part.type in ("uri", "blob")]
        return "\n".join([*texts, *(mark for mark in media if mark not in "\n".join(texts))])
    if isinstance(body, list) and body and all(isinstance(item, dict) and set(item) == {"json"} for item in body):
        body = body[0]["json"] if len(body) == 1 else [item["json"] for item in body]
    if isinstance(body, str):
        return without_media(clean_text(body))
    return without_media(body)


def _ui_tool(part: Mapping[str, Any], kind: str) -> list[Part]:
    """The AI SDK's own messages: call and result in one part."""
    inner = part.get("toolInvocation") if kind == "tool-invocation" else part
    if not isinstance(inner, dict):
        return []
    name = label(inner.get("toolName")) or kind.removeprefix("tool-")
    call_id = label(first(inner, ("toolCallId", "id")))
    call = tool_call(inner).model_copy(update={"name": name, "id": call_id})
    if first(inner, ("output", "result", "errorText")) is None:
        return [call]
    result = {key: inner[key] for key in ("output", "result", "errorText") if key in inner}
    return [call, tool_response(result, name=name, call_id=call_id)]


def _inner(part: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = part.get(key)
    return inner if isinstance(inner, dict) else part


def is_definition(content: Any) -> bool:
    """Whether a `role: tool` content describes a tool instead of giving its result."""
    content = decoded(content, times=1)
    if isinstance(content, list) and content:
        return all(is_definition(item) for item in content)
    if not isinstance(content, dict):
        return False
    function = content.get("function")
    if content.get("type") == "function" and (isinstance(function, dict) or "parameters" in content):
        return True
    return "name" in content and any(key in content for key in ("input_schema", "inputSchema")) and len(content) <= 6


_PART_READERS: dict[str, Callable[[Mapping[str, Any]], list[Part]]] = {
    **dict.fromkeys(_TEXT_TYPES, _read_text),
    **dict.fromkeys(_REASONING_TYPES, _read_reasoning),
    **dict.fromkeys(_CALL_TYPES, lambda part: [tool_call(_inner(part, "functionCall"))]),
    **dict.fromkeys(_RESULT_TYPES, lambda part: [tool_response(_inner(part, "functionResponse"))]),
    **dict.fromkeys(MEDIA_TYPES, _read_media),
    "search_result": _read_search_result,
}
