"""What stands in a partition's spans: the question, the answer, and the evidence blocks."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from groundwire.scorer.evidence import Block, BlockKind
from groundwire.scorer.metrics.config import Given
from groundwire.scorer.partition import (
    BlobPart,
    Message,
    Role,
    Span,
    ToolCallResponsePart,
    UriPart,
)

__all__ = [
    "answer_of",
    "compact",
    "decoded",
    "given_blocks",
    "last_text",
    "media_in",
    "question_of",
    "response_parts",
    "tool_blocks",
    "was_error",
]

_ERROR_TEXT = re.compile(r"\s*(?:error|exception|traceback)\b\s*[:(]", re.IGNORECASE)


def compact(value: Any) -> str:
    """A value as text: strings as they are, anything else as compact JSON with raw Unicode; None is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def decoded(value: Any) -> Any:
    """The object or list that a string of JSON holds; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def was_error(value: Any) -> bool:
    """Whether a result says by itself that the tool failed: a truthy top-level `error`, or text that opens so."""
    value = decoded(value)
    if isinstance(value, dict):
        return bool(value.get("error"))
    return isinstance(value, str) and _ERROR_TEXT.match(value) is not None


def last_text(messages: Sequence[Message], role: Role) -> str:
    """The text of the last message of that role that has any."""
    return next((text for message in reversed(messages) if message.role == role and (text := message.text.strip())), "")


def answer_of(spans: Sequence[Span]) -> str:
    """The root's final text, else the last assistant text below it; empty where there is none.

    `spans` is a tree in time order, the root first.
    """
    root, below = spans[0], spans[1:]
    if text := _output_text(root):
        return text
    by_end = sorted((span for span in below if span.kind == "LLM"), key=lambda span: span.end_time or span.start_time)
    return next((text for span in reversed(by_end) if (text := _output_text(span))), "")


def _output_text(span: Span) -> str:
    if span.output_messages:
        return last_text(span.output_messages, "assistant")
    if isinstance(span.output, str):
        return span.output.strip()
    return compact(span.output) if span.kind == "LLM" else _only_text(span.output)


_ANSWER_KEYS = ("output", "answer", "response", "result", "text", "content", "message", "output_text", "final_answer")


def _only_text(value: Any) -> str:
    """The text of an object that holds its answer under a usual key or as its only string."""
    if not isinstance(value, dict):
        return ""
    for key in _ANSWER_KEYS:
        if isinstance(value.get(key), str) and value[key].strip():
            return str(value[key]).strip()
    strings = [item for item in value.values() if isinstance(item, str) and item.strip()]
    return strings[0].strip() if len(value) == 1 and strings else ""


def question_of(spans: Sequence[Span]) -> str:
    """What the user last asked: the root's last user text, else its plain question, else the last model call's text."""
    root = spans[0]
    if text := last_text(root.input_messages, "user") or _asked(root.input):
        return text
    llm = [span for span in spans if span.kind == "LLM"]
    if text := next((text for span in reversed(llm) if (text := last_text(span.input_messages, "user"))), ""):
        return text
    return compact(root.input)


def _asked(value: Any) -> str:
    """The question in a span's plain input: the input itself, or what stands under a key that names a question."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in ("question", "query", "input", "prompt", "message", "text"):
            if isinstance(value.get(key), str):
                return str(value[key])
    return ""


def response_parts(messages: Iterable[Message]) -> list[ToolCallResponsePart]:
    """The tool results shown in messages, in order."""
    return [part for message in messages for part in message.parts if isinstance(part, ToolCallResponsePart)]


def tool_blocks(spans: Iterable[Span]) -> list[Block]:
    """E1…: the TOOL spans, in the order given."""
    blocks: list[Block] = []
    for span in spans:
        if span.kind != "TOOL":
            continue
        parts = response_parts(span.output_messages)
        value = span.output
        if value is None and parts:
            value = parts[0].response if len(parts) == 1 else [part.response for part in parts]
        text = compact(value) or "\n".join(message.text for message in span.output_messages if message.text)
        failed = span.status == "error" or any(part.failed for part in parts) or was_error(value)
        if failed and not text:
            text = span.status_message
        blocks.append(
            Block(
                name=f"E{len(blocks) + 1}",
                kind="tool",
                text=text,
                span_id=span.span_id,
                tool_name=span.tool_name or span.name or None,
                arguments=compact(span.input),
                failed=failed,
            )
        )
    return blocks


def given_blocks(spans: Sequence[Span], given: Sequence[Given]) -> list[Block]:
    """U1… and S1…: what the user said and what the system prompt provided, each text once, in the order it was said."""
    wanted: list[tuple[Given, Role, BlockKind, str]] = [
        ("user", "user", "user", "U"),
        ("provided", "system", "provided", "S"),
    ]
    blocks: list[Block] = []
    for name, role, kind, letter in wanted:
        if name not in given:
            continue
        seen: dict[str, str] = {}
        for span in spans:
            for message in span.input_messages:
                if message.role == role and (text := message.text.strip()):
                    seen.setdefault(text, span.span_id)
        if role == "user" and not seen and (text := question_of(spans).strip()):
            seen[text] = spans[0].span_id
        blocks += [
            Block(name=f"{letter}{index}", kind=kind, text=text, span_id=span_id)
            for index, (text, span_id) in enumerate(seen.items(), start=1)
        ]
    return blocks


def media_in(spans: Iterable[Span]) -> int:
    """How many images, sounds and files stand in the messages, each counted once."""
    seen = set()
    for span in spans:
        for message in (*span.input_messages, *span.output_messages):
            for part in message.parts:
                if isinstance(part, UriPart):
                    seen.add(part.uri)
                elif isinstance(part, BlobPart):
                    seen.add(f"{part.mime_type}:{part.size}")
    return len(seen)
