"""The record an assistant had before it answered: every turn of a model call, a trace or a session, in time order."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from groundwire.scorer.metrics.reading import (
    answer_of,
    compact,
    decoded,
    last_text,
    media_in,
    question_of,
    response_parts,
    was_error,
)
from groundwire.scorer.metrics.shape import in_time_order
from groundwire.scorer.partition import (
    BlobPart,
    Message,
    Partition,
    Span,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from groundwire.scorer.transcript import Entry, is_labelled, read_entries

__all__ = ["Record", "final_answer", "partition_traces", "record_of_span", "record_of_traces", "roots_last"]

_SPEAKING = ("LLM", "AGENT", "CHAIN", "UNKNOWN")
_RELAYED = 20
"""Characters from which the answer inside a later prompt shows that the prompt was made of it."""
_BASE64 = re.compile(r"(?:data:[\w.+/-]+;base64,)?[A-Za-z0-9+/_-]{1000,}={0,2}")


@dataclass(frozen=True, kw_only=True)
class Record:
    """Everything that was there before the response, and the response."""

    entries: tuple[Entry, ...]
    answer: str
    question: str = ""
    media: int = 0
    """Images, sounds and files that are named in it and not shown."""


def record_of_span(span: Span) -> Record:
    """A model call: its message history, and its latest text."""
    entries = list(_entries_of(span.input_messages, span.span_id, {}))
    if not entries and (text := compact(span.input).strip()):
        entries = read_entries(text) if is_labelled(text) else [Entry(role="user", text=text, span_id=span.span_id)]
    return Record(
        entries=tuple(entries),
        answer=answer_of([span]),
        question=last_text(span.input_messages, "user"),
        media=media_in([span]),
    )


def record_of_traces(traces: Sequence[Sequence[Span]]) -> Record:
    """One trace, or the traces of a session in time order: all that was said and returned in them, each thing once.

    The response is the last trace's. What a later model call repeats of its history is no new turn.
    """
    entries: list[Entry] = []
    seen: Counter[tuple[str, str]] = Counter()
    answer = ""
    for spans in traces:
        if answer:
            entries.append(Entry(role="assistant", text=answer))
        answer = final_answer(spans)
        entries += _Reading(spans=in_time_order(spans), seen=seen, before=entries, answer=answer).entries()
    every = [span for spans in traces for span in spans]
    question = question_of(roots_last(traces[-1])) if traces and traces[-1] else ""
    return Record(entries=tuple(entries), answer=answer, question=question, media=media_in(every))


def roots_last(spans: Sequence[Span]) -> list[Span]:
    """The spans in time order, the last of those without a parent first: whose text answers the whole."""
    ordered = in_time_order(spans)
    known = {span.span_id for span in ordered}
    roots = [span for span in ordered if span.parent_id is None or span.parent_id not in known]
    speaking = [root for root in roots if root.kind in _SPEAKING]
    first = (speaking or roots or ordered)[-1:]
    return [*first, *(span for span in ordered if span not in first)]


def final_answer(spans: Sequence[Span]) -> str:
    """The last root's final text, else the last assistant text below; empty where there is none."""
    return answer_of(roots_last(spans)) if spans else ""


@dataclass(kw_only=True)
class _Reading:
    """One trace read into turns; `seen` counts what earlier traces of the session said."""

    spans: list[Span]
    seen: Counter[tuple[str, str]]
    before: Sequence[Entry]
    answer: str
    """What the trace came to: it is said at its end, whenever the spans that hold it ended."""

    def entries(self) -> list[Entry]:
        self._parents = {span.span_id: span for span in self.spans}
        self._carried = _Carried(self.spans)
        found: list[Entry] = []
        said = {entry.text for entry in self.before if not entry.is_evidence}
        for _, _, entries, own in sorted(self._moments(), key=lambda moment: moment[:2]):
            here: Counter[tuple[str, str]] = Counter()
            for entry in entries:
                if own:  # a tool that ran twice ran twice
                    found.append(entry)
                    continue
                key = (f"call {entry.name}" if entry.role == "call" else entry.role, entry.text)
                here[key] += 1
                if here[key] <= self.seen[key]:
                    continue
                self.seen[key] += 1
                if entry.role == "assistant" and entry.text == self.answer:
                    continue
                if entry.role == "user" and (entry.text in said or self._is_made_of_the_answer(entry.text)):
                    entry = replace(entry, role="assistant", name="another step")
                elif entry.role == "assistant":
                    said.add(entry.text)
                found.append(entry)
        found.sort(key=lambda entry: entry.role != "system")  # what the root says of the user comes before the prompt
        return self._with_question(found)

    def _with_question(self, found: list[Entry]) -> list[Entry]:
        """The turn opens with what the user asked, also where the same was asked before."""
        if not self.spans or any(entry.role == "user" for entry in found):
            return found
        question = question_of(roots_last(self.spans)).strip()
        return [Entry(role="user", text=question, span_id=self.spans[0].span_id), *found] if question else found

    def _is_made_of_the_answer(self, text: str) -> bool:
        return len(self.answer) >= _RELAYED and self.answer in text

    def _moments(self) -> Iterator[tuple[datetime, int, list[Entry], bool]]:
        """What was said when; the last item tells whether it is a tool's or retriever's own span."""
        names: dict[str, str] = {}
        for number, span in enumerate(self.spans):
            end = span.end_time or span.start_time
            if span.kind == "TOOL":
                if not _from_messages(span):
                    yield span.start_time, 2 * number, _tool_entries(span), True
            elif span.kind == "RETRIEVER":
                if text := compact(span.output).strip():
                    name = span.tool_name or span.name
                    entry = Entry(role="retrieved", text=_plain(text), name=name, span_id=span.span_id)
                    yield span.start_time, 2 * number, [entry], True
            elif span.kind in _SPEAKING:
                yield span.start_time, 2 * number, self._heard(span, span.input_messages, names), False
                yield end, 2 * number + 1, self._heard(span, span.output_messages, names), False

    def _heard(self, span: Span, messages: Sequence[Message], names: dict[str, str]) -> list[Entry]:
        """The messages of a span; what a sub-agent was told was said by an assistant."""
        to = self._sub_agent(span)
        heard = []
        for entry in _entries_of(messages, span.span_id, names, self._carried):
            told = to and entry.role == "user"
            heard.append(replace(entry, role="assistant", name=to) if told else entry)
        return heard

    def _sub_agent(self, span: Span) -> str:
        """The name of the agent that a span belongs to, where that agent works for another; else empty."""
        agents: list[Span] = []
        at: Span | None = span
        for _ in range(len(self.spans)):
            if at is None:
                break
            if at.kind == "AGENT":
                agents.append(at)
            at = self._parents.get(at.parent_id or "")
        return (agents[0].name or "a sub-agent") if len(agents) > 1 else ""


class _Carried:
    """The tool results that spans of their own carry."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._ids: set[str] = set()
        self._texts: set[str] = set()
        self.calls: set[str] = set()
        """Names of the tools that ran."""
        for span in spans:
            if span.kind != "TOOL" or _from_messages(span):
                continue
            parts = response_parts(span.output_messages)
            call_id = span.attributes.get("groundwire.tool_call_id")
            self._ids |= {str(call_id)} if call_id else set()
            self._ids |= {part.id for part in parts if part.id}
            self._texts |= {_normal(value) for value in (span.output, *(part.response for part in parts)) if value}
            self.calls |= {name for name in (span.tool_name, span.name) if name}

    def holds(self, part: ToolCallResponsePart) -> bool:
        return (part.id or "") in self._ids or _normal(part.response) in self._texts


def _entries_of(
    messages: Iterable[Message], span_id: str, names: dict[str, str], carried: _Carried | None = None
) -> Iterator[Entry]:
    """The turns in messages: words, calls and results in their order; thinking is nobody's turn.

    `names` remembers which tool a call id asked for. What `carried` holds stands elsewhere.
    """
    for message in messages:
        words: list[str] = []
        others: list[Entry] = []
        for part in message.parts:
            match part:
                case TextPart():
                    words.append(_plain(part.content))
                case UriPart() | BlobPart():
                    words.append(_named(part))
                case ToolCallPart():
                    if part.id:
                        names[part.id] = part.name
                    if carried is None or part.name not in carried.calls:
                        text = _plain(compact(part.arguments)) or "{}"
                        others.append(Entry(role="call", text=text, name=part.name, span_id=span_id))
                case ToolCallResponsePart():
                    if carried is None or not carried.holds(part):
                        others.append(_result(part, names, span_id))
        text = "\n".join(word for word in words if word).strip()
        if text:
            name = (message.name or "") if message.role == "tool" else ""
            failed = message.role == "tool" and was_error(text)
            yield Entry(role=message.role, text=text, name=name, failed=failed, span_id=span_id)
        yield from others


def _result(part: ToolCallResponsePart, names: dict[str, str], span_id: str) -> Entry:
    return Entry(
        role="tool",
        text=_plain(compact(decoded(part.response))) or "(empty)",
        name=part.name or names.get(part.id or "", ""),
        failed=part.failed or was_error(part.response),
        span_id=span_id,
    )


def _tool_entries(span: Span) -> list[Entry]:
    """A tool's run: what it was asked, and what it gave back."""
    name = span.tool_name or span.name
    parts = response_parts(span.output_messages)
    value: Any = span.output
    if value is None and parts:
        value = parts[0].response if len(parts) == 1 else [part.response for part in parts]
    text = compact(decoded(value)) or "\n".join(message.text for message in span.output_messages if message.text)
    failed = span.status == "error" or any(part.failed for part in parts) or was_error(value)
    if failed and not text:
        text = span.status_message
    asked = compact(span.input)
    call = [Entry(role="call", text=_plain(asked), name=name, span_id=span.span_id)] if asked else []
    result = Entry(role="tool", text=_plain(text) or "(empty)", name=name, failed=failed, span_id=span.span_id)
    return [*call, result]


def _from_messages(span: Span) -> bool:
    flags = span.attributes.get("groundwire.flags")
    return isinstance(flags, list) and "tool_from_messages" in flags


def _normal(value: Any) -> str:
    return " ".join(compact(decoded(value)).split())


def _plain(text: str) -> str:
    """The text with encoded bytes named and not shown: nobody can read them."""
    if len(text) < 1000:
        return text
    return _BASE64.sub(lambda found: f"[encoded data, {len(found[0]):,} characters, not shown]", text)


def _named(part: UriPart | BlobPart) -> str:
    """Media by what it is: its bytes and its address are nobody's evidence."""
    kind = part.modality if part.modality != "unknown" else "file"
    more = [part.mime_type] if part.mime_type else []
    if isinstance(part, BlobPart) and part.size:
        more.append(f"{part.size:,} encoded characters")
    elif isinstance(part, UriPart):
        name = part.uri.partition("?")[0].rstrip("/").rpartition("/")[2]
        more += [name[:80]] if name and not part.uri.startswith("data:") else []
    return f"[{kind}{': ' if more else ''}{', '.join(more)}, not shown]"


def partition_traces(partition: Partition) -> list[list[Span]]:
    """The spans of a partition by trace, in the order of its turns."""
    if not partition.turns:
        return [list(partition.spans)]
    starts = [turn.start for turn in partition.turns]
    ends = [*starts[1:], len(partition.spans)]
    return [list(partition.spans[start:end]) for start, end in zip(starts, ends, strict=True)]
