"""A text too long for one prompt: in pieces, or without its beginning."""

import re
from dataclasses import replace

from groundwire.scorer.claims import DraftClaim

__all__ = ["moved", "pieces_of", "tail"]

_PARAGRAPH = re.compile(r"\n\s*\n|\n|(?<=[.!?。！？])\s*")


def pieces_of(text: str, offset: int, size: int) -> list[tuple[int, str]]:
    """The text in pieces of at most `size` characters, cut after a line or sentence where there is one."""
    found: list[tuple[int, str]] = []
    start = 0
    while len(text) - start > size:
        ends = [
            match.end() for match in _PARAGRAPH.finditer(text, start + size // 2, start + size) if match.end() > start
        ]
        end = ends[-1] if ends else start + size
        found.append((offset + start, text[start:end]))
        start = end
    if text[start:].strip() or not found:
        found.append((offset + start, text[start:]))
    return found


def moved(claim: DraftClaim, offset: int) -> DraftClaim:
    """A claim of a piece that begins at that offset, placed in the whole text."""
    if claim.start is None or claim.end is None:
        return claim
    return replace(claim, start=claim.start + offset, end=claim.end + offset)


def tail(text: str, size: int) -> str:
    """The end of a text, with a mark for what went before."""
    gone = len(text) - size
    return f"[…{gone} characters cut] {text[gone:]}" if gone > 0 else text
