"""The transcript of a record: its turns labelled by role, written so that it can be read back turn by turn.

    System: You sell televisions.
    User: How long can I return one?
    Assistant (calls policy): {"item":"tv"}
    Tool (policy): {"days":30}
    Tool (stock, failed): timeout
    Retrieved (handbook): Returns take 30 days.

A line inside a turn that looks like a label is marked with `·`, so that no text can begin a turn of its own.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["GAP_ROOM", "Entry", "EntryRole", "gap", "is_labelled", "label", "left_out", "read_entries", "write_entry"]

EntryRole = Literal["system", "user", "assistant", "call", "tool", "retrieved", "provided"]
"""Who speaks. `call` is the assistant asking for a tool; `provided` is what a caller gave without a role."""

LONGEST_NAME = 80
GAP_ROOM = 60
"""Characters that a gap's mark and the line breaks around it take at most."""

_TURN = re.compile(
    r"(?im)^(?P<lead>[\s>*#\[<(]*)(?:turn \d+\W+)?(?P<role>system|developer|user|human|customer|assistant|ai|agent|"
    r"model|tool|function|context|provided|retrieved|document)\b"
    r"(?: \((?P<named>[^()\n]{1,200})\):|(?P<head>[^:\]>\n]{0,120})[:\]>)]+[*]*)[ \t]*"
)
_ROLES: dict[str, EntryRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "customer": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "agent": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "context": "provided",
    "provided": "provided",
    "document": "provided",
    "retrieved": "retrieved",
}
_LABELS: dict[EntryRole, str] = {
    "system": "System",
    "user": "User",
    "assistant": "Assistant",
    "call": "Assistant",
    "tool": "Tool",
    "retrieved": "Retrieved",
    "provided": "Provided",
}
_FAILED = re.compile(r"(?i)\bfail(?:ed|ure)?\b|\berror\b")
_NAME = re.compile(r"[A-Za-z_][\w.-]+")
_WORDS = frozenset({"failed", "failure", "result", "results", "response", "output", "message", "turn", "error"})
_GAP = re.compile(r"\[…([\d,]+) turns?, ([\d,]+) characters cut\]")
_CUT = re.compile(r"\[…([\d,]+) characters cut\]")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One turn of a record."""

    role: EntryRole
    text: str
    name: str = ""
    """Of a tool, a retriever, or the sub-agent that is spoken to."""
    failed: bool = False
    span_id: str | None = None

    @property
    def is_evidence(self) -> bool:
        """Whether it can support anything: the assistant's own turns can't."""
        return self.role not in ("assistant", "call")


def label(entry: Entry) -> str:
    """What stands before a turn's text."""
    name = " ".join(re.sub(r"[()\s]+", " ", entry.name).split())[:LONGEST_NAME]
    match entry.role:
        case "call":
            return f"Assistant (calls {name or 'a tool'}):"
        case "tool":
            return f"Tool ({name or 'tool'}{', failed' if entry.failed else ''}):"
        case "assistant" if name:
            return f"Assistant (to {name}):"
        case "retrieved" if name:
            return f"Retrieved ({name}):"
        case role:
            return f"{_LABELS[role]}:"


def write_entry(entry: Entry, text: str) -> str:
    """A turn with as much of its text as is shown; lines in it that look like labels are marked."""
    marked = _TURN.sub(lambda found: f"{found['lead']}· {found[0][len(found['lead']) :]}", f"\n{text}")[1:]
    return f"{label(entry)} {marked}"


def gap(turns: int, characters: int) -> str:
    """What stands where whole turns were left out."""
    return f"[…{turns:,} {'turn' if turns == 1 else 'turns'}, {characters:,} characters cut]"


def left_out(text: str) -> int:
    """Characters that the marks in a text say were cut from it."""
    return sum(int(found[-1].replace(",", "")) for found in (*_GAP.findall(text), *((n,) for n in _CUT.findall(text))))


def is_labelled(text: str) -> bool:
    """Whether a text begins with a turn's label."""
    return _TURN.match(text.lstrip()) is not None


def read_entries(transcript: str) -> list[Entry]:
    """The turns of a labelled transcript in order, also in the ways that others label them; without labels, none.

    A turn without text is left out.
    """
    found = list(_TURN.finditer(transcript))
    entries: list[Entry] = []
    for index, turn in enumerate(found):
        end = found[index + 1].start() if index + 1 < len(found) else len(transcript)
        text = transcript[turn.end() : end].strip()
        if text:
            entries.append(_entry(turn, text))
    return entries


def _entry(turn: re.Match[str], text: str) -> Entry:
    role = _ROLES[turn["role"].casefold()]
    named, head = turn["named"], turn["head"] or ""
    if role == "assistant" and named and named.startswith("calls "):
        return Entry(role="call", text=text, name=named.removeprefix("calls "))
    if role not in ("tool", "retrieved"):
        return Entry(role=role, text=text)
    if named and (known := re.fullmatch(r"(.+?)(, failed)?", named)):
        plain = _NAME.fullmatch(known[1]) or role == "retrieved" or known[2]
        if plain:
            return Entry(role=role, text=text, name=known[1], failed=known[2] is not None)
        head = named
    names: Iterable[str] = (name for name in _NAME.findall(head) if name.casefold() not in _WORDS)
    return Entry(role=role, text=text, name=next(iter(names), ""), failed=bool(_FAILED.search(head)))
