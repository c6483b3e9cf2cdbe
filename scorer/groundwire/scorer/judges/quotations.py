"""Whether a judge's quote stands in the evidence, and where."""

import re
from collections.abc import Iterable

from groundwire.scorer.claims import find_quote

__all__ = ["find_in_order", "find_passage"]

_ELLIPSIS = re.compile(r"\s*(?:\[?…\]?|\[?\.{3,}\]?)\s*")
_SQUEEZED_OUT = frozenset(" \t\r\n\"'\\")
LEAST_SQUEEZED = 4
"""Characters that must be left of a quote to be looked for without its white space and quotation marks."""


def find_passage(quote: str, text: str) -> tuple[int, int] | None:
    """Where a quote stands in a text, as offsets; None where it doesn't.

    Looked up exactly, then normalised (`claims.find_quote`), then with the parts around an ellipsis in their order,
    then without white space, quotation marks and backslashes, which judges lose when they copy JSON.
    """
    found = find_quote(quote, text)
    if found is not None:
        return found.start, found.end
    parts = [part for part in _ELLIPSIS.split(quote.strip()) if part]
    if len(parts) > 1:
        return find_in_order(parts, text)
    return _squeezed(quote, text)


def find_in_order(parts: Iterable[str], text: str) -> tuple[int, int] | None:
    """From the first part's start to the last one's end, where all stand in the text one after the other."""
    begin: int | None = None
    position = 0
    for part in parts:
        found = find_quote(part, text, after=position)
        if found is None:
            return None
        begin = found.start if begin is None else begin
        position = found.end
    return None if begin is None else (begin, position)


def _squeezed(quote: str, text: str) -> tuple[int, int] | None:
    needle = "".join(character for character in quote.casefold() if character not in _SQUEEZED_OUT)
    if len(needle) < LEAST_SQUEEZED:
        return None
    kept = [(index, character) for index, character in enumerate(text) if character not in _SQUEEZED_OUT]
    haystack = "".join(character.casefold()[0] for _, character in kept)
    start = haystack.find(needle)
    if start < 0:
        return None
    return kept[start][0], kept[start + len(needle) - 1][0] + 1
