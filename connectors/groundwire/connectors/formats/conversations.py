"""A bare conversation: messages and no spans, read as one trace with one model call."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from groundwire.connectors.formats.spans import at_millisecond, moment, nonempty
from groundwire.connectors.messages import decoded, find_messages, is_message, read_messages, without_media
from groundwire.connectors.trace import Trace
from groundwire.scorer import Message, Span, TextPart

__all__ = ["HOLDERS", "holds_conversation", "is_conversation", "trace_of_conversation"]

HOLDERS = ("messages", "traj", "history", "conversation")
"""Keys under which records hold their list of messages."""
_ID_KEYS = ("trace_id", "conversation_id", "thread_id", "id", "uuid")
_TASK_KEYS = ("task_id", "question_ID", "question_id")
_TIME_KEYS = ("timestamp", "created_at", "createdAt", "time", "create_time")
_QUESTION_KEYS = ("question", "task", "instruction")


def is_conversation(value: Any) -> bool:
    """Whether a value is a list of messages."""
    return isinstance(value, list) and bool(value) and is_message(value[0])


def holds_conversation(record: Any) -> bool:
    """Whether a record holds a list of messages under one of `HOLDERS`."""
    return isinstance(record, dict) and _held(record) is not None


def _held(record: Mapping[str, Any]) -> str | None:
    return next((key for key in HOLDERS if is_conversation(decoded(record.get(key)))), None)


def trace_of_conversation(record: Any, *, origin: str, fallback_id: str, trace_id: str | None = None) -> Trace | None:
    """One trace: its answer is the last assistant text, its only span the call that gave it.

    Its id is `trace_id`, else the record's own, else `fallback_id` (a file's name, a colon and a number). What
    follows the answer (a closing user message, a last tool call) is left out and flagged `after_answer`. Times are
    the messages' own, else the Unix epoch and one millisecond for each message, flagged `no_times`. None where nothing
    in the record can be read as a message.
    """
    held, rest = (record, {}) if isinstance(record, list) else _split(record)
    messages = _spoken(held, rest)
    if not messages:
        return None
    name = nonempty(rest.get("name")) or "conversation"
    trace_id = trace_id or _trace_id(rest, fallback_id)
    answer = next((index for index in range(len(messages) - 1, -1, -1) if _is_answer(messages[index])), len(messages))
    flags = []
    times = [moment(next((item[key] for key in _TIME_KEYS if key in item), None)) for item in held if _is_object(item)]
    if len(times) == len(messages) and all(times):
        start, end = times[0], times[min(answer, len(times) - 1)]
    else:
        start, end = at_millisecond(0), at_millisecond(answer)
        flags.append("no_times")
    if answer < len(messages) - 1:
        flags.append("after_answer")
    span = Span(
        span_id=f"{trace_id}:answer",
        trace_id=trace_id,
        kind="LLM",
        name=name,
        start_time=start or at_millisecond(0),
        end_time=end,
        input_messages=tuple(messages[:answer]),
        output_messages=tuple(messages[answer : answer + 1]),
        model=nonempty(rest.get("model")),
        attributes={"groundwire.flags": list(flags)} if flags else {},
    )
    return Trace(
        trace_id=trace_id,
        spans=(span,),
        source="conversation",
        origin=origin,
        session_id=nonempty(rest.get("session_id")),
        name=name,
        user_id=nonempty(rest.get("user_id")),
        metadata=without_media(rest),
        conversation=True,
        flags=tuple(flags),
    )


def _is_object(item: Any) -> bool:
    return isinstance(item, dict)


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and any(
        isinstance(part, TextPart) and part.content.strip() for part in message.parts
    )


def _split(record: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    key = _held(record)
    held = decoded(record[key]) if key is not None else []
    return held, {name: value for name, value in record.items() if name != key}


def _trace_id(rest: Mapping[str, Any], fallback_id: str) -> str:
    """The record's own id. A task may be run often, and a number stands in many files: those get the file's name."""
    found = next((value for key in _ID_KEYS if (value := rest.get(key)) not in (None, "")), None)
    if isinstance(found, str):
        return found
    found = next((value for value in (found, *map(rest.get, _TASK_KEYS)) if nonempty(value) is not None), None)
    if found is None:
        return fallback_id
    trial = rest.get("trial")
    return f"{_stem(fallback_id)}:{found}" + (f":{trial}" if isinstance(trial, int) else "")


def _stem(fallback_id: str) -> str:
    return PurePath(fallback_id.rpartition(":")[0] or fallback_id).name


def _spoken(held: list[Any], rest: Mapping[str, Any]) -> list[Message]:
    """The messages; in a log of several agents every speaker is an assistant, and the user's question stands beside it.

    Such a log names each message's agent, and says `user` or `assistant` only by whose turn it was.
    """
    messages = list(find_messages(held)) or list(read_messages(held, role="user"))
    said = [message for message in messages if message.role in ("user", "assistant")]
    if not said or not all(message.name for message in said):
        return messages
    asked = next((value for key in _QUESTION_KEYS if isinstance(value := rest.get(key), str) and value), None)
    users = {message.name for message in said if message.role == "user"}
    assistants = {message.name for message in said if message.role == "assistant"}
    if asked is None and not users & assistants:
        return messages
    messages = [
        message.model_copy(update={"role": "assistant"}) if message.role == "user" else message for message in messages
    ]
    return [*read_messages(asked, role="user"), *messages]
