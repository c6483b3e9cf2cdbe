"""Folding: every script's digits, spaces, dashes and marks made alike, one character for one, so that offsets hold."""

import re
import unicodedata
from collections.abc import Iterable

from .items import Item

__all__ = ["BARRIER", "GAP", "SKIP", "fold", "mask"]

SKIP = "\x00"
"""Stands where Markdown or an invisible character stood: readers pass over it."""
BARRIER = "\ue000"
"""Stands where an item was already read, and between pieces of evidence: no reader passes it."""
GAP = r"[ \t\x00]*"
"""What may stand inside one item: blanks and skipped characters, never a line break."""

_INVISIBLE = frozenset("\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u2060\ufeff") | frozenset(
    chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
)
_MARKS = {
    **dict.fromkeys("‐‑‒–—―−﹣", "-"),
    **dict.fromkeys("‘’ʼ′＇", "'"),
    "٫": ".",
    "٬": ",",
    "،": ",",
    "。": ".",
    "、": ",",
    "٪": "%",
}
_MARKDOWN = str.maketrans(dict.fromkeys("*`\\", SKIP))
_PAIRED = re.compile(r"__|~~|(?<![^\W_])_(?=\S)|(?<=\S)_(?![^\W_])")


def fold(text: str) -> str:
    """The text with the same length in which digits are ASCII, blanks are spaces and Markdown marks are `SKIP`."""
    folded = text.translate(_MARKDOWN)
    if "_" in folded or "~~" in folded:
        folded = _PAIRED.sub(lambda found: SKIP * len(found.group()), folded)
    if folded.isascii():
        return folded
    return folded.translate({ord(character): _alike(character) for character in set(folded) if character > "\x7f"})


def _alike(character: str) -> str:
    if character in _INVISIBLE:
        return SKIP
    if character in _MARKS:
        return _MARKS[character]
    if 0xFF01 <= ord(character) <= 0xFF5E:  # full-width forms of ASCII
        return chr(ord(character) - 0xFEE0)
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if unicodedata.category(character) == "Zs":
        return " "
    return character


def mask(text: str, items: Iterable[Item]) -> str:
    """The text with `BARRIER`s over the items, which are in order and apart."""
    pieces: list[str] = []
    at = 0
    for item in items:
        pieces.append(text[at : item.start])
        pieces.append(BARRIER * (item.end - item.start))
        at = item.end
    pieces.append(text[at:])
    return "".join(pieces)
