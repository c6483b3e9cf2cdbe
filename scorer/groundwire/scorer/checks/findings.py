"""Findings: each item of a claim against the evidence index: found, derived, contradicted or not found."""

import re
from collections.abc import Sequence

from groundwire.scorer.claims import Check, CheckOutcome, find_quote

from .calendars import days_before
from .folding import fold
from .index import EvidenceIndex
from .items import Item
from .lookups import places_of
from .names import name_words
from .places import Place, split_key
from .reading import read_items

__all__ = ["run_checks"]

_MOST_COMPARED = 12
"""Most places of one value among which the best is chosen."""
_NEXT_DAY = re.compile(
    r"\b(?:next|following) (?:day|morning|evening)\b|\b(?:a|one) day later\b|\bday after\b|\bovernight\b|"
    r"nächsten Tag|Tag später|lendemain|día siguiente|giorno dopo|dia seguinte|volgende dag|следующий день|"
    r"第二天|翌日|次日",
    re.IGNORECASE,
)


def run_checks(text: str, index: EvidenceIndex, *, language: str = "en") -> tuple[Check, ...]:
    """Check every item of a claim against the evidence; one `Check` an item, in order.

    `found`: the evidence has the value, in whatever writing. `derived`: it is a total, difference or small multiple of
    amounts there, or a count of its items. `contradicted`: the evidence gives another value for the same thing.
    `not_found`: none of these, which isn't yet wrong. Items that are `loose` are left out unless they are found.
    Raises nothing, whatever the text.
    """
    items = read_items(text, language=language)
    spoken = frozenset(name_words(text))
    checks: list[Check] = []
    for item in items:
        finding = _find(item, text, index, spoken)
        if finding is not None:
            checks.append(_check(item, "found", *finding))
            continue
        if item.loose:
            continue
        derived = _derive(item, text, index)
        if derived is not None:
            checks.append(_check(item, "derived", *derived))
            continue
        rival = index.contradictions.find(item, text, (other for other in items if other is not item))
        if rival is not None:
            checks.append(_check(item, "contradicted", *_cite(rival)))
        else:
            checks.append(_check(item, "not_found", None, None, None))
    return tuple(checks)


_Citing = tuple[str | None, str | None, str | None]
"""Block, JSON path and quote."""


def _check(item: Item, outcome: CheckOutcome, block: str | None, path: str | None, quote: str | None) -> Check:
    return Check(
        check=item.kind,
        text=item.text,
        start=item.start,
        end=item.end,
        outcome=outcome,
        value=item.value,
        block=block,
        path=path,
        quote=quote,
    )


def _cite(place: Place) -> _Citing:
    return place.item.block, place.item.path, place.item.text


def _find(item: Item, text: str, index: EvidenceIndex, spoken: frozenset[str]) -> _Citing | None:
    if item.kind == "quotation":
        return _quotation(item, index)
    if item.kind == "name":
        return _name(item, index)
    places = places_of(item, text, index)
    if places:
        return _cite(_best(places, spoken))
    needles = [fold(item.text).replace("\x00", "").lower()]
    if item.kind == "url":
        needles = [item.value.partition("://")[2].lower()]
    return _literal(needles, index, item) if item.unit is None else None


def _derive(item: Item, text: str, index: EvidenceIndex) -> _Citing | None:
    """What a value is calculated from: amounts and counts, or the day before a date."""
    derivation = index.closure.derive(item)
    if derivation is not None:
        return _cite(derivation.places[0]) if derivation.places else (None, None, None)
    if item.kind == "date" and (_NEXT_DAY.search(text) is not None or index.has_next_days):
        for before in (day for value in item.values for day in days_before(value)):
            places = index.at(f"date:{before}")
            if places:
                return _cite(places[0])
    return None


def _best(places: Sequence[Place], spoken: frozenset[str]) -> Place:
    """Of several places of a value, the one whose key or surroundings the claim speaks of most."""
    if len(places) == 1:
        return places[0]

    def score(place: Place) -> int:
        if place.leaf.kind == "prose":
            around = place.shown.text[max(0, place.item.start - 60) : place.item.end + 60]
            return len(spoken.intersection(name_words(around)))
        words = {word for part in split_key(place.leaf.key) for word in name_words(part)}
        if place.leaf.branch is not None:
            words |= place.leaf.branch.words
        return len(spoken & words)

    return max(places[:_MOST_COMPARED], key=score)


def _quotation(item: Item, index: EvidenceIndex) -> _Citing | None:
    needed = set(name_words(item.value))
    for leaf, shown in index.leaves:
        if len(leaf.text) < len(needed):
            continue
        if item.text in leaf.text:
            return shown.block.name, leaf.path, item.text
        if (
            needed
            and needed <= index.words[shown.block.name]
            and (quote := find_quote(item.text, leaf.text)) is not None
        ):
            return shown.block.name, leaf.path, leaf.text[quote.start : quote.end]
    return None


def _name(item: Item, index: EvidenceIndex) -> _Citing | None:
    """A name whose words all stand in one block; the quote is the name there, or its longest word."""
    for value in item.values:
        parts = value.split(" ")
        for shown, text in index.texts:
            known = index.words[shown.block.name]
            if not all(_knows(part, known) for part in parts):
                continue
            for needle in (item.text.lower(), max(parts, key=len)):
                at = text.find(needle)
                if at >= 0 and len(text) == len(shown.text):
                    return shown.block.name, None, shown.text[at : at + len(needle)]
            return shown.block.name, None, None
    return None


def _knows(word: str, known: frozenset[str]) -> bool:
    return word in known or f"{word}s" in known or (word.endswith("s") and word[:-1] in known)


def _literal(needles: list[str], index: EvidenceIndex, item: Item) -> _Citing | None:
    """The same characters in the evidence, with nothing joined to them: what was read differently there."""
    for needle in needles:
        pattern = re.compile(rf"(?<![\w])(?<!\d[.,:]){re.escape(needle)}(?![\w]|[.,:]\d)")
        for shown, text in index.texts:
            if needle in text and (found := pattern.search(text)) is not None:
                same = len(text) == len(shown.text)
                quote = shown.text[found.start() : found.end()] if same else item.text
                return shown.block.name, None, quote
    return None
