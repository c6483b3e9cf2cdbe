"""Lookups: the places of the evidence that hold an item's value, in whatever writing, unit or part."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import assert_never

from .folding import fold
from .identifiers import identifier_keys
from .index import EvidenceIndex, date_keys
from .items import Item
from .numerals import exact, shift
from .places import Place
from .units import based
from .vocabulary import words

__all__ = ["places_of"]

_ENDING_IN = re.compile(
    r"(?:ending|ends|end)(?: in| with)?[ \x00]*\Z|last (?:four|4)(?: digits)?[^.]{0,12}\Z", re.IGNORECASE
)
_CENTURY = re.compile(r"\.?[ ]?-?(?:centur|jahrhundert|siècle|secol|sécul|eeuw|век|wiek|世纪|世紀)", re.IGNORECASE)
_DECADE = re.compile(r"(?<!\d)[12]\d\d0'?s\Z")
_DOLLARS = words("USD CAD AUD NZD SGD HKD MXN TWD")
_JOINTS = re.compile(r"[\W_]+")
_YEAR = re.compile(r"[12]\d{3}\Z")


def places_of(item: Item, text: str, index: EvidenceIndex) -> list[Place]:
    """Where the evidence has the value of an item of a text; quotations and names have no value to look up."""
    match item.kind:
        case "number" | "unit":
            return _numbers(item, text, index)
        case "date":
            return _dates(item, index)
        case "identifier":
            return _identifiers(item, index)
        case "email" | "url":
            return index.at(f"{item.kind}:{item.value}")
        case "quotation" | "name":
            return []
    assert_never(item.kind)


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
    """A number without unit as a share of one, a year or a year's decade or century, or the digits of an identifier."""
    value = item.value
    after = text[item.end : item.end + 16].replace("*", "")
    if _DECADE.search(item.text) is not None:
        yield from index.within(Fraction(value), Fraction(value) + 9)
    elif len(value) <= 2 and _CENTURY.match(after) is not None:
        yield from index.within(Fraction(value) * 100 - 99, Fraction(value) * 100)
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
