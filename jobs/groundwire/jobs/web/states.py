"""What a caller asks about, in whatever form it was sent: a partition to judge, or a transcript with its output."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue, ValidationError

from groundwire.connectors import cut, is_conversation, trace_of_conversation, trace_of_exchange
from groundwire.scorer import Partition, SkipThis

__all__ = ["Transcript", "read_exchange", "read_state"]

_ANSWER = ("outputs", "output", "answer", "response")
_QUESTION = ("inputs", "input", "question", "query")
_EVIDENCE = ("context", "contexts", "evidence", "documents")
_TRANSCRIPT = ("transcript", "record")
_HOLDERS = ("messages", "conversation", "history")
_HEADING = re.compile(
    rf"^[ \t]*(?P<name>{'|'.join((*_ANSWER, *_QUESTION, *_EVIDENCE))})[ \t]*:[ \t]*", re.MULTILINE | re.IGNORECASE
)
_FORMS = (
    "send an object with context, inputs and outputs, or with transcript and output, or messages, "
    "or a canonical_partition_v1"
)


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """A record that was rendered by its sender, and the response to judge against it."""

    transcript: str
    output: str


def read_state(state: JsonValue) -> Partition | Transcript:
    """A System One `state` as what it holds. Raises `SkipThis` with what to send, where that can't be told.

    Text is JSON of the other forms, or sections under `CONTEXT:`, `INPUTS:` and `OUTPUTS:`, each at the beginning of a
    line. A heading that stands there twice is refused: text inside one section could pass for the next.
    """
    if isinstance(state, str):
        return _read_text(state)
    if isinstance(state, list):
        return _read_messages(state)
    if isinstance(state, dict):
        return _read_object(state)
    raise SkipThis(f"the state is empty; {_FORMS}")


def read_exchange(question: JsonValue, answer: JsonValue, evidence: JsonValue) -> Partition:
    """Question, answer and evidence as a trace partition. Raises `SkipThis`."""
    try:
        # without evidence there is a tool that gave none, so that the row says `no_evidence`
        given = [None] if evidence in (None, []) else evidence
        trace = trace_of_exchange(question=question, answer=answer, evidence=given)
    except (ValidationError, RecursionError):
        raise SkipThis("question, answer or evidence can't be read") from None
    return cut(trace, "trace")[0]


def _read_text(text: str) -> Partition | Transcript:
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict | list):
            return read_state(value)
    sections: dict[str, str] = {}
    found = list(_HEADING.finditer(text))
    for number, heading in enumerate(found):
        name = _role_of(heading["name"].lower())
        if name in sections:
            raise SkipThis(f"the state has the section {name} twice, so nobody can tell where it ends; {_FORMS}")
        end = found[number + 1].start() if number + 1 < len(found) else len(text)
        sections[name] = text[heading.end() : end].strip()
    if "outputs" not in sections:
        raise SkipThis(f"the state's text has no section OUTPUTS; {_FORMS}")
    return read_exchange(sections.get("inputs"), sections["outputs"], sections.get("context"))


def _role_of(name: str) -> str:
    return "outputs" if name in _ANSWER else "inputs" if name in _QUESTION else "context"


def _read_messages(state: Sequence[Any]) -> Partition | Transcript:
    if not is_conversation(list(state)):
        raise SkipThis(f"the state's list holds no messages; {_FORMS}")
    roles = {str(message.get("role")) for message in state if isinstance(message, Mapping)}
    if roles <= {"system", "user"} and isinstance(last := state[-1].get("content"), str):
        return _read_text(last)  # a prompt that was filled in, as a platform sends it
    return _read_conversation(list(state))


def _read_conversation(record: Any) -> Partition:
    try:
        trace = trace_of_conversation(record, origin="request", fallback_id="request")
    except (ValidationError, RecursionError):
        trace = None
    if trace is None:
        raise SkipThis("no message of the conversation can be read")
    return cut(trace, "trace")[0]


def _read_object(state: Mapping[str, Any]) -> Partition | Transcript:
    if "partition_type" in state or state.get("schema") == "canonical_partition_v1":
        try:
            return Partition.model_validate(state)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise SkipThis(f"the state is no valid canonical_partition_v1: {place}: {first['msg']}") from None
    answer = _first(state, _ANSWER)
    transcript = _first(state, _TRANSCRIPT)
    if isinstance(transcript, str) and isinstance(answer, str):
        return Transcript(transcript=transcript, output=answer)
    if answer is None and any(is_conversation(state.get(key)) for key in _HOLDERS):
        return _read_conversation(dict(state))
    if answer is None:
        raise SkipThis(f"the state names no outputs; {_FORMS}")
    return read_exchange(_first(state, _QUESTION), answer, _first(state, _EVIDENCE))


def _first(state: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((state[name] for name in names if state.get(name) not in (None, "")), None)
