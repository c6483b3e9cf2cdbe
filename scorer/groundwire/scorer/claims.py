"""Claims: the checkable statements of an answer, quoted from it with exact offsets, and what was found about each."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Check",
    "CheckOutcome",
    "Citation",
    "Claim",
    "ClaimKind",
    "DraftClaim",
    "Label",
    "Quote",
    "find_quote",
    "locate",
]

Label = Literal["supported", "inferred", "model_knowledge", "hallucinated"]
ClaimKind = Literal["fact", "self_reference", "confirmation", "next_step", "filler"]
"""Only `fact` is judged; the others are dropped before labelling."""
CheckOutcome = Literal["found", "derived", "contradicted", "not_found"]
"""`derived`: a total or difference of amounts in the evidence. `contradicted`: the evidence has another value there."""

ALIGNMENT_CUTOFF = 90.0
"""Least rapidfuzz partial ratio (0-100) for a claim to be placed in the answer by alignment."""


@dataclass(frozen=True, kw_only=True)
class DraftClaim:
    """A claim as it was split off the answer, before any label."""

    text: str
    """Verbatim from the answer where `start` is given."""
    start: int | None = None
    """Offset of the first character in the answer, in Unicode code points; None where it can't be located."""
    end: int | None = None
    """Offset after the last character."""
    kind: ClaimKind = "fact"


class Citation(BaseModel):
    """Where a claim's support stands."""

    model_config = ConfigDict(frozen=True)

    block: str
    span_id: str | None = None
    quote: str
    verified: bool = False
    """True where code found the quote in the block."""
    path: str | None = None
    """JSON path of the value (`$.flights[2].price`), where the evidence is data."""


class Check(BaseModel):
    """What one code check found about one item of a claim."""

    model_config = ConfigDict(frozen=True)

    check: Literal["number", "date", "unit", "identifier", "email", "url", "quotation", "name", "citation"]
    text: str
    """The item as the answer writes it."""
    start: int = Field(ge=0)
    """Offset of the item in the claim's text."""
    end: int = Field(ge=0)
    outcome: CheckOutcome
    value: str | None = None
    """The item in its normal form (`1234.5`, `2026-11-30`)."""
    block: str | None = None
    """The block that holds it, or that contradicts it."""
    path: str | None = None
    quote: str | None = None
    """How the evidence writes it."""


class Claim(BaseModel):
    """A claim with what was found about it."""

    model_config = ConfigDict(frozen=True)

    text: str
    start: int | None = None
    end: int | None = None
    label: Label | None = None
    """None where no label was given; `reason` then says `undecided` or `not_labelled`."""
    type: str | None = None
    """Of a hallucinated claim: contradiction, unsupported_addition, fabricated_reference, false_success, …"""
    subtype: str | None = None
    """What is wrong in it, where code knows: number, date, unit, name, url, …; see `Check`."""
    reason: str = ""
    evidence: Citation | None = None
    checks: tuple[Check, ...] = ()
    probability: float | None = Field(default=None, ge=0, le=1)
    """Probability that the claim is hallucinated, where the judge gives one."""


@dataclass(frozen=True, kw_only=True)
class Quote:
    """Where a quote was found in a text."""

    start: int
    end: int
    exact: bool
    """False where it was found only after white space, quotation marks, dashes and case were made alike."""


_FOLDS = {
    **dict.fromkeys("“”„‟«»‹›″＂「」『』", '"'),
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "…": "...",
}
_ZERO_WIDTH = dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", "")


def _normalise(text: str) -> tuple[str, list[int]]:
    """The text with quotes, dashes, width, case and white space made alike, and the offset each character came from."""
    characters: list[str] = []
    origins: list[int] = []
    for index, character in enumerate(text):
        if character in _ZERO_WIDTH:
            continue
        if character.isspace():
            if characters and characters[-1] == " ":
                continue
            folded = " "
        else:
            folded = _FOLDS.get(character) or unicodedata.normalize("NFKC", character).casefold()
        characters.extend(folded)
        origins.extend([index] * len(folded))
    return "".join(characters), origins


def find_quote(quote: str, text: str, *, after: int = 0, whole: bool = False) -> Quote | None:
    """Look a quote up: exact first, then normalised. Searches from offset `after`; None where it isn't there.

    With `whole` it may not begin or end inside a word or a number: `used licenses` isn't in `unused licenses`, `4 days`
    not in `14 days`.
    """
    if not quote.strip():
        return None
    for start in _places(quote, text, after):
        if not whole or _is_whole(text, start, start + len(quote)):
            return Quote(start=start, end=start + len(quote), exact=True)
    needle = _normalise(quote.strip())[0].strip()
    if not needle:
        return None
    haystack, origins = _normalise(text[after:])
    for start in _places(needle, haystack, 0):
        if not whole or _is_whole(haystack, start, start + len(needle)):
            return Quote(start=after + origins[start], end=after + origins[start + len(needle) - 1] + 1, exact=False)
    return None


def _places(needle: str, text: str, after: int) -> Iterator[int]:
    start = text.find(needle, after)
    while start >= 0:
        yield start
        start = text.find(needle, start + 1)


_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts whose words nothing parts: an edge there is no edge of a word."""


def _is_whole(text: str, start: int, end: int) -> bool:
    return not _joined(text, start) and not _joined(text, end)


def _joined(text: str, at: int) -> bool:
    """Whether a word or a number goes on over that offset."""
    before, after = text[at - 1 : at], text[at : at + 1]
    if before in (".", ",") and text[at - 2 : at - 1].isdigit() and after.isdigit():
        return True
    if after in (".", ",") and before.isdigit() and text[at + 1 : at + 2].isdigit():
        return True
    return all(_WORD.match(one) and not _UNSPACED.match(one) for one in (before, after))


def locate(texts: Sequence[str], answer: str, *, overlapping: bool = False) -> tuple[DraftClaim, ...]:
    """Place each text in the answer: exact, then normalised, then by rapidfuzz alignment.

    The same words twice are two places, in order of appearance. A placed claim's text is the answer's own; a text that
    can't be placed keeps its words and has no offsets. Places are disjoint unless different texts may be `overlapping`.
    """
    places: list[tuple[str, tuple[int, int]]] = []
    claims: list[DraftClaim] = []
    for text in texts:
        taken = [place for other, place in places if other == text or not overlapping]
        place = _place(text, answer, taken)
        if place is None:
            claims.append(DraftClaim(text=text))
        else:
            places.append((text, place))
            claims.append(DraftClaim(text=answer[place[0] : place[1]], start=place[0], end=place[1]))
    return tuple(claims)


def _place(text: str, answer: str, taken: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    after = 0
    while (found := find_quote(text, answer, after=after)) is not None:
        if all(found.end <= start or found.start >= end for start, end in taken):
            return found.start, found.end
        after = found.start + 1
    return _align(text, answer, taken)


def _align(text: str, answer: str, taken: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    from rapidfuzz import fuzz

    if len(text) < 8 or not answer:  # fewer characters align with almost anything
        return None
    masked = answer
    for start, end in taken:
        masked = masked[:start] + "\0" * (end - start) + masked[end:]
    best = fuzz.partial_ratio_alignment(text, masked, score_cutoff=ALIGNMENT_CUTOFF)
    if best is None or best.dest_end <= best.dest_start or "\0" in masked[best.dest_start : best.dest_end]:
        return None
    if len(text) > 1.5 * len(answer):  # partial ratio would then place the answer in the text
        return None
    start, end = _whole_words(answer, best.dest_start, best.dest_end)
    if any(start < stop and end > begin for begin, stop in taken):
        start, end = best.dest_start, best.dest_end
    return start, end


_WORD = re.compile(r"\w")


def _whole_words(answer: str, start: int, end: int) -> tuple[int, int]:
    """Widen a place to whole words, then drop white space at its ends."""
    while start > 0 and _WORD.match(answer[start - 1]) and _WORD.match(answer[start]):
        start -= 1
    while end < len(answer) and _WORD.match(answer[end - 1]) and _WORD.match(answer[end]):
        end += 1
    while start < end and answer[start].isspace():
        start += 1
    while end > start and answer[end - 1].isspace():
        end -= 1
    return start, end
