"""Findings: each item of a claim against the evidence index: found, derived, contradicted or not found."""

import re
from collections.abc import Iterator, Sequence

from groundwire.scorer.claims import Check, CheckOutcome, find_quote

from .dates import days_before
from .folding import fold
from .identifiers import identifier_keys
from .index import EvidenceIndex, date_keys
from .items import Item
from .names import name_words
from .numerals import exact, shift
from .places import Place, split_key
from .reading import read_items
from .units import based
from .vocabulary import words

__all__ = ["run_checks"]

_MOST_COMPARED = 12
"""Most places of one value among which the best is chosen."""
_ENDING_IN = re.compile(
    r"(?:ending|ends|end)(?: in| with)?[ \x00]*\Z|last (?:four|4)(?: digits)?[^.]{0,12}\Z", re.IGNORECASE
)
_DOLLARS = words("USD CAD AUD NZD SGD HKD MXN TWD")
_JOINTS = re.compile(r"[\W_]+")
_NEXT_DAY = re.compile(
    r"\b(?:next|following) (?:day|morning|evening)\b|\b(?:a|one) day later\b|\bday after\b|\bovernight\b|"
    r"nächsten Tag|Tag später|lendemain|día siguiente|giorno dopo|dia seguinte|volgende dag|следующий день|"
    r"第二天|翌日|次日",
    re.IGNORECASE,
)
_YEAR = re.compile(r"[12]\d{3}\Z")


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
    match item.kind:
        case "number" | "unit":
            places = _numbers(item, text, index)
        case "date":
            places = _dates(item, index)
        case "identifier":
            places = _identifiers(item, index)
        case "email" | "url":
            places = index.at(f"{item.kind}:{item.value}")
        case "quotation":
            return _quotation(item, index)
        case "name":
            return _name(item, index)
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


def _numbers(item: Item, text: str, index: EvidenceIndex) -> list[Place]:
    places = [place for value in item.values for place in index.at(value) if _agree(item, place.item)]
    if places:
        return places
    if item.kind == "unit":
        places = [place for value in item.values for place in index.measured(value, item.unit or "")]
    elif item.unit == "%":
        places = [place for place in index.at(shift(item.value, -2)) if place.item.unit is None]
    elif item.unit is None:
        places = list(_bare(item, text, index))
    return places or (_rounded(item, index) if item.hedge is not None else [])


def _agree(item: Item, other: Item) -> bool:
    """True where two equal numbers can be the same value: their units don't speak against it."""
    if item.unit is None or other.unit is None or item.unit == other.unit:
        return True
    return item.unit in _DOLLARS and other.unit in _DOLLARS and "USD" in (item.unit, other.unit)


def _bare(item: Item, text: str, index: EvidenceIndex) -> Iterator[Place]:
    """A number without unit as a share of one, a year, or the digits of an identifier."""
    value = item.value
    if value.startswith("0."):
        yield from (place for place in index.at(shift(value, 2)) if place.item.unit == "%")
    if _YEAR.match(value):
        yield from index.at(f"year:{value}")
    digits = fold(item.text)
    if digits.isdigit() and len(digits) >= 3:
        yield from index.at(f"id:{digits}")
        if _ENDING_IN.search(text, max(0, item.start - 24), item.start):
            yield from (place for place in index.places if _digits_end(place.item, digits))
    elif len(digits) > 3 and digits[-1].isdigit() is False and digits[:-2].isdigit():  # an ordinal
        yield from index.at(f"id:{digits[:-2]}")
    parts = digits.split(" ")
    if len(parts) > 1 and all(part.isdigit() for part in parts):  # "5 200" may be two numbers
        each = [index.at(str(int(part))) for part in parts]
        if all(each):
            yield each[0][0]


def _digits_end(item: Item, digits: str) -> bool:
    return item.kind in ("number", "identifier") and item.text.endswith(digits)


def _rounded(item: Item, index: EvidenceIndex) -> list[Place]:
    """The places that round to a number which its text announces as rounded.

    Half up to the last digit written; where that digit is a zero of a whole number, within a tenth of the number. Of
    "nearly" and "more than" the evidence lies on the one side, within a whole unit of that digit and a tenth.
    """
    number, grain = exact(item.value), exact(item.grain or "1")
    if number is None or grain is None:
        return []
    tenth = abs(number) / 10
    half = min(grain / 2, tenth) if grain > 1 else grain / 2
    whole = min(grain, tenth)
    match item.hedge:
        case "below":
            low, high = number - whole, number
        case "above":
            low, high = number, number + whole
        case _:
            low, high = number - half, number + half
    bounds = (based(low, item.unit), based(high, item.unit)) if item.kind == "unit" and item.unit else (None, None)
    if bounds[0] is not None and bounds[1] is not None:
        found = list(index.measured_within(*bounds[0], bounds[1][1]))
        if found:
            return found
    return [place for place in index.within(low, high) if _agree(item, place.item)]


def _dates(item: Item, index: EvidenceIndex) -> list[Place]:
    for value in item.values:
        keys = list(date_keys(value))
        instant = [key for key in keys if key.startswith("instant:")]
        days = [key for key in keys if key.startswith("date:")]
        times = [key for key in keys if key.startswith("time:")]
        years = [key for key in keys if key.startswith("year:")]
        if instant and (places := index.at(instant[0])):
            return places
        day = index.at(days[0]) if days else []
        if days and not day and years and len(days) > 1 and _has_year(years[0], index):
            day = [place for place in index.at(days[1]) if place.item.value.startswith("--")]
        if not days and years:
            day = index.at(years[0]) or [place for place in index.at(years[0][5:]) if place.item.unit is None]
        if not times:
            if day:
                return day
            continue
        time = index.at(times[0])
        if days and day and time:
            same = {id(place) for place in time}
            return [place for place in day if id(place) in same] or day
        if not days and not years and time:
            return time
    return []


def _has_year(key: str, index: EvidenceIndex) -> bool:
    return bool(index.at(key) or index.at(key[5:]))


def _identifiers(item: Item, index: EvidenceIndex) -> list[Place]:
    keys = identifier_keys(item.value)
    letters = any(character.isalpha() for character in item.value)
    plain = _JOINTS.sub("", item.value)
    for key in keys:
        places = index.at(f"id:{key}")
        if letters and key.isdigit():  # the digits alone agree: so must what of a prefix both have
            places = [place for place in places if _prefixes_agree(plain, place.item.value)]
        if places:
            return places
        if key.isdigit() and (numbers := [place for place in index.at(key) if fold(place.item.text).isdigit()]):
            return numbers
    return []


def _prefixes_agree(plain: str, other: str) -> bool:
    other = _JOINTS.sub("", other)
    return plain.endswith(other) or other.endswith(plain)


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
