"""Marked text: a text cut into segments at the edges of the places that something is said about."""

import itertools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Segment", "mark"]

_JOINER = "\u200d"


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A stretch of text under the same marks from end to end."""

    text: str
    marks: tuple[int, ...] = ()
    """Indexes of the places that cover it."""
    opens: tuple[int, ...] = ()
    """Indexes of the places that begin with it."""
    closes: tuple[int, ...] = ()
    """Indexes of the places that end with it."""


def mark(text: str, places: Sequence[tuple[int, int] | None]) -> tuple[Segment, ...]:
    """Cut `text` at the edges of the places, given in code points as `[start, end)`; None marks nothing.

    Places may overlap. An edge inside one visible character (a letter and its accent, an emoji and its skin tone, a
    flag) moves outwards, so that markup never tears it apart. The segments joined are the text.
    """
    edges = [None if place is None else (_before(text, place[0]), _after(text, place[1])) for place in places]
    cuts = sorted({0, len(text), *(edge for place in edges if place is not None for edge in place)})
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for index, place in enumerate(edges):
        if place is not None and place[0] < place[1]:
            starts.setdefault(place[0], []).append(index)
            ends.setdefault(place[1], []).append(index)
    segments: list[Segment] = []
    active: list[int] = []
    for begin, stop in itertools.pairwise(cuts):
        active = sorted({*active, *starts.get(begin, ())} - {*ends.get(begin, ())})
        segments.append(
            Segment(
                text=text[begin:stop],
                marks=tuple(active),
                opens=tuple(starts.get(begin, ())),
                closes=tuple(ends.get(stop, ())),
            )
        )
    return tuple(segments)


def _before(text: str, offset: int) -> int:
    offset = min(max(offset, 0), len(text))
    while _inside_character(text, offset):
        offset -= 1
    return offset


def _after(text: str, offset: int) -> int:
    offset = min(max(offset, 0), len(text))
    while _inside_character(text, offset):
        offset += 1
    return offset


def _inside_character(text: str, offset: int) -> bool:
    """Whether an edge at `offset` would part what is drawn as one character."""
    if offset <= 0 or offset >= len(text):
        return False
    left, right = text[offset - 1], text[offset]
    if right == _JOINER or left == _JOINER or unicodedata.category(right) in ("Mn", "Me", "Mc"):
        return True
    if "\U0001f3fb" <= right <= "\U0001f3ff":  # skin tones
        return True
    if left == "\r" and right == "\n":
        return True
    if _is_flag_half(left) and _is_flag_half(right):
        run = 0
        while run < offset and _is_flag_half(text[offset - 1 - run]):
            run += 1
        return run % 2 == 1
    return False


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
