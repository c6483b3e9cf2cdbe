"""A record as much of it as a judge can be shown: the last turns and what tools returned stay longest."""

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.scorer.evidence import Block, BlockKind, Shown, View, cut, share
from groundwire.scorer.transcript import GAP_ROOM, Entry, EntryRole, gap, label, write_entry

__all__ = ["RecordLimits", "ShownRecord", "show"]

LAST = 6
"""Turns at the end that are kept like tool results."""
LEAST = 160
"""Characters of a long turn below which it is left out rather than shown."""
FIRST_SHARE, MOST_SHARE = 0.7, 0.9
"""Of the whole, what the last turns and all results take before anything else is shown; more where there are so many
of them that their beginnings alone need it."""
SECOND_SHARE = 0.8
"""Of what is left, what the users' other turns and provided content take before the assistant's."""

_KINDS: dict[EntryRole, BlockKind] = {
    "tool": "tool",
    "retrieved": "tool",
    "user": "user",
    "system": "provided",
    "provided": "provided",
}
_LETTERS: dict[BlockKind, str] = {"tool": "E", "user": "U", "provided": "S"}


@dataclass(frozen=True, kw_only=True)
class RecordLimits:
    """The limits of a transcript, in characters; they define the score."""

    response: int
    """Most kept of one tool result or retrieved document."""
    turn: int
    """Most kept of one other turn."""
    total: int
    """Most kept of the whole transcript, labels and marks included."""


@dataclass(frozen=True, kw_only=True)
class ShownRecord:
    """A record as a judge sees it."""

    transcript: str
    view: View
    """Its evidence, turn by turn: E what tools and retrievers returned, U what users said, S what was provided."""


def show(entries: Sequence[Entry], limits: RecordLimits, *, media: int = 0) -> ShownRecord:
    """Write the record within its limits; what is cut is marked and counted.

    Where not everything fits, the last turns and all results share most of the room, then the users' earlier turns and
    what was provided, then the assistant's. In each group short turns stay whole and the oldest go first.
    """
    rooms = _rooms(entries, limits)
    lines: list[str] = []
    shown: list[Shown] = []
    counts: dict[str, int] = {}
    turns = characters = 0
    for entry, room in zip(entries, rooms, strict=True):
        text, gone = ("", len(entry.text)) if room is None else cut(entry.text, room)
        if room is None:
            turns, characters = turns + 1, characters + gone
        else:
            if turns:
                lines.append(gap(turns, characters))
                turns = characters = 0
            lines.append(write_entry(entry, text))
        if entry.is_evidence:
            shown.append(Shown(block=_block(entry, counts), text=text, cut=gone))
    if turns:
        lines.append(gap(turns, characters))
    return ShownRecord(transcript="\n\n".join(lines), view=View(shown=tuple(shown), media=media))


def _block(entry: Entry, counts: dict[str, int]) -> Block:
    kind = _KINDS[entry.role]
    letter = _LETTERS[kind]
    counts[letter] = counts.get(letter, 0) + 1
    return Block(
        name=f"{letter}{counts[letter]}",
        kind=kind,
        text=entry.text,
        span_id=entry.span_id,
        tool_name=entry.name or None,
        failed=entry.failed,
    )


def _rooms(entries: Sequence[Entry], limits: RecordLimits) -> list[int | None]:
    """How many characters of each turn's text are shown; None where the turn is left out."""
    wanted = [
        min(len(entry.text), limits.response if _KINDS.get(entry.role) == "tool" else limits.turn) for entry in entries
    ]
    frames = [_frame(entry, size) for entry, size in zip(entries, wanted, strict=True)]
    if sum(wanted) + sum(frames) <= limits.total:
        return list(wanted)
    frames = [frame + GAP_ROOM for frame in frames]  # any of them may come to stand beside a gap
    needs: list[list[int]] = [[], [], []]
    for index, entry in enumerate(entries):
        needs[_group(entry, index, len(entries))].append(index)
    first, second, third = (sum(wanted[i] + frames[i] for i in group) for group in needs)
    total = limits.total - GAP_ROOM
    begun = sum(min(wanted[i], LEAST) + frames[i] for i in needs[0])
    sure = max(int(total * FIRST_SHARE), min(int(total * MOST_SHARE), begun))
    most = min(first, max(sure, total - second - third))
    left = total - most
    middle = min(second, max(int(left * SECOND_SHARE), left - third))
    rooms: list[int | None] = [None] * len(entries)
    for group, room in zip(needs, (most, middle, left - middle), strict=True):
        _fill(group, wanted, frames, room, rooms)
    return rooms


def _group(entry: Entry, index: int, count: int) -> int:
    if index >= count - LAST or _KINDS.get(entry.role) == "tool":
        return 0
    return 1 if entry.is_evidence else 2


def _frame(entry: Entry, size: int) -> int:
    """Characters of a turn beside its text: its label, line breaks, and the marks before what looks like a label."""
    text = entry.text[:size]
    return len(write_entry(entry, text)) - len(text) + 2 if "\n" in text else len(label(entry)) + 3


def _fill(
    group: Sequence[int], wanted: Sequence[int], frames: Sequence[int], room: int, rooms: list[int | None]
) -> None:
    """Share the room of a group: as many of its last turns as can be shown at all, the short ones whole."""
    kept: list[int] = []
    for index in reversed(group):
        least = min(wanted[index], LEAST) + frames[index]
        if least > room:
            break
        room -= least
        kept.append(index)
    spare = share([wanted[index] - min(wanted[index], LEAST) for index in kept], room)
    for index, more in zip(kept, spare, strict=True):
        rooms[index] = min(wanted[index], LEAST) + more
