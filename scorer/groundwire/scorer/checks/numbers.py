"""Numbers: plain, grouped, with sign, percent, currency or magnitude, and quantities with a unit; in any script."""

import re
from collections.abc import Iterator
from dataclasses import replace

from .folding import GAP
from .items import Hedge, Item, ItemKind
from .magnitudes import CURRENCIES, HEDGES_AFTER, HEDGES_BEFORE, PERCENT, magnitude
from .numerals import LONGEST, NUMERAL, canonical, exact, parse_numeral, shift, written
from .units import LONE_LETTERS, UNITS

__all__ = ["read_numbers"]

_NUMBER = re.compile(rf"(?<![A-Za-z_])(?<!\d)({NUMERAL})")
_SIGN = re.compile(r"(?:^|[\s(\[:=,;/|\x00$€£¥])([-+])\x00*(?:[$€£¥₹]\x00*)?\Z")
_BEFORE = re.compile(
    r"(?:(?<![^\W\d_])([A-Za-z]{1,3}[$¥]|[A-Z]{3}|[Rr]s\.?|Fr\.|kr\.?|руб\.?)|([$€£¥₹₽₩₺₪฿₫₴₿]))[ \x00]*\Z"
)
# What follows: up to three words, each letters with the marks that unit symbols hold.
_AFTER = re.compile(
    rf"({GAP}(?:-{GAP}(?=[^\W\d_]))?)(%|‰|[$€£¥₹₽₩₺₪฿₫₴₿](?![ ]?\d)|°{GAP}[CF](?![^\W\d_])|°|℃|℉|"
    r"[^\W\d_]+[.²³]?(?:/[^\W\d_]+)?(?:[ -][^\W\d_]+[²³]?){0,2})"
)
_SYMBOLS = frozenset("$€£¥₹₽₩₺₪฿₫₴₿")
_SIGNED = frozenset("-+\x00") | _SYMBOLS
_FURTHER = re.compile(rf"{GAP}({NUMERAL})")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|º|ª|ème|eme|er|e|\.º|\.ª)(?![^\W\d_])")
_DECADE_END = re.compile(r"'?s(?![^\W_])")
_LIST_MARK = re.compile(r"^[\s\x00>#\-+•·]*\(?(\d{1,3})(?:[.)]|\x00?\.)(?=[\s\x00])", re.MULTILINE)
_RANGE = re.compile(rf"{GAP}(?:-|~|〜|to|bis|à|hasta|até|tot|до|至|到){GAP}[$€£¥]?\Z")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FRACTIONS = {"½": "5", "¼": "25", "¾": "75"}


def read_numbers(text: str, original: str, language: str, *, hedges: bool = True) -> list[Item]:
    """The numbers and quantities of a folded text, in order; a list's own numbering is none.

    Without `hedges` no item tells whether its text announces rounding: of evidence nobody asks.
    """
    marks = {found.start(1) for found in _LIST_MARK.finditer(text)}
    items: list[Item] = []
    powers: list[int] = []
    at = 0
    for found in _NUMBER.finditer(text):
        if found.start() < at or found.start() in marks:
            continue
        item, power = _read(text, original, found.span(1), at, language, hedges=hedges)
        at = item.end
        items.append(item)
        powers.append(power)
    return _spread_ranges(text, items, powers)


def _read(
    text: str, original: str, span: tuple[int, int], floor: int, language: str, *, hedges: bool
) -> tuple[Item, int]:
    """The item whose numeral stands at a span, and the power of ten of its magnitude words."""
    start, end = span
    numeral = text[start:end]
    values = parse_numeral(numeral, language)
    if end < len(text) and text[end] in _FRACTIONS and "." not in values[0]:
        values = (f"{values[0]}.{_FRACTIONS[text[end]]}",)
        end += 1
    head, unit = _currency_before(text, start, floor)
    sign = _SIGN.search(text, max(floor, start - 4), start) if start > floor and text[start - 1] in _SIGNED else None
    if sign is not None:
        head = min(head, sign.start(1))
    values, places, end = _magnify(text, values, end, language, money=unit is not None)
    kind: ItemKind = "number"
    decade = _DECADE_END.match(text, end) if len(numeral) == 4 and numeral.isdigit() else None
    ordinal = decade or _ORDINAL.match(text, end) if places == 0 and unit is None and "." not in numeral else None
    if ordinal is not None:
        end = ordinal.end()
    else:
        symbol, symbol_kind, after = _measure(text, end)
        if unit is not None and symbol_kind == "number":
            end = after
        elif unit is None:
            unit, kind, end = symbol, symbol_kind, after
    if sign is not None and sign.group(1) == "-":
        values = tuple(canonical(*_split(value), negative=True) for value in values)
    hedge = _hedge(text, head, end, floor) if hedges else None
    item = Item(
        kind=kind,
        text=original[head:end],
        start=head,
        end=end,
        value=values[0],
        unit=unit,
        others=values[1:],
        hedge=hedge,
        grain=written(values[0].lstrip("-"), numeral, places) if hedge is not None else None,
    )
    return item, places


def _currency_before(text: str, start: int, floor: int) -> tuple[int, str | None]:
    """Where a currency before a numeral begins, and its code; the numeral's own start and None where there is none."""
    at = start
    while at > floor and text[at - 1] in " \x00":
        at -= 1
    if at == floor or not (text[at - 1] in _SYMBOLS or text[at - 1].isalpha() or text[at - 1] == "."):
        return start, None
    before = _BEFORE.search(text, max(floor, start - 6), start)
    if before is None:
        return start, None
    word = (before.group(1) or before.group(2)).lower()
    code = CURRENCIES.get(word)
    return (before.start(), code) if code is not None else (start, None)


def _split(value: str) -> tuple[str, str]:
    whole, _, fraction = value.partition(".")
    return whole, fraction


def _magnify(
    text: str, values: tuple[str, ...], end: int, language: str, *, money: bool
) -> tuple[tuple[str, ...], int, int]:
    """Apply the magnitude words after a numeral ("2.5 million", "5k", "3万5千"): values, power of ten, new end."""
    places = 0
    for _ in range(3):
        after = _AFTER.match(text, end)
        if after is None or len(values[0]) > LONGEST:
            break
        size, power = _magnitude_at(after.group(2), language, apart=len(after.group(1)) > 0, money=money)
        if power is None:
            break
        values = tuple(shift(value, power) for value in values[: 1 if power > 3 else None])
        places += power
        end = after.start(2) + size
        further = _FURTHER.match(text, end)
        if further is None or not _CJK.match(text, end - 1):
            continue
        more = _AFTER.match(text, further.end())
        added = _magnitude_at(more.group(2), language, apart=False, money=False) if more is not None else (0, None)
        low = shift(parse_numeral(further.group(1), language)[0], added[1] or 0)
        total, part = exact(values[0]), exact(low)
        if total is None or part is None or (added[1] is not None and added[1] >= places):
            break
        values = (str(total + part),) if (total + part).denominator == 1 else values
        end = more.start(2) + added[0] if more is not None and added[1] is not None else further.end()
        break
    return values, places, end


def _magnitude_at(phrase: str, language: str, *, apart: bool, money: bool) -> tuple[int, int | None]:
    """Length and power of the magnitude word that a phrase begins with, or `(0, None)`."""
    if _CJK.match(phrase):
        for size in (2, 1):
            power = magnitude(phrase[:size], language) if size <= len(phrase) else None
            if power is not None:
                return size, power
        return 0, None
    words = phrase.split(" ")
    two = " ".join(words[:2])
    if len(words) > 1 and (power := magnitude(two, language)) is not None:
        return len(two), power
    word = words[0].partition("-")[0]
    if len(word) == 1:
        if money and word == "m":
            return 1, 6
        if apart and not (money and word in "MBTK"):
            return 0, None
    power = magnitude(word, language)
    if power is None and word.endswith("."):
        word = word[:-1]
        power = magnitude(word, language)
    return (len(word), power) if power is not None else (0, None)


def _measure(text: str, end: int) -> tuple[str | None, ItemKind, int]:
    """The percent sign, currency or unit after a number: its normal form, the item's kind, and where it ends."""
    after = _AFTER.match(text, end)
    if after is None:
        return None, "number", end
    phrase, start, apart = after.group(2), after.start(2), len(after.group(1)) > 0
    for size in _prefixes(phrase):
        word = phrase[:size]
        low = word.lower().replace("\x00", "").replace("° ", "°")
        if low in PERCENT:
            return "%", "number", start + size
        if low in CURRENCIES and (len(low) > 3 or not low.isascii() or word == word.upper() or low in {"kr", "kr."}):
            return CURRENCIES[low], "number", start + size
        symbol = _unit(word, low, apart=apart)
        if symbol is not None:
            return symbol, "unit", start + size
    return None, "number", end


def _prefixes(phrase: str) -> Iterator[int]:
    """The lengths at which a unit's name may end: whole words, the longest first; any character in CJK."""
    if _CJK.match(phrase):
        yield from range(min(len(phrase), 8), 0, -1)
        return
    yield len(phrase)
    for found in reversed(list(re.finditer(r"[ \-/.]", phrase))):
        yield found.start()


def _unit(word: str, low: str, *, apart: bool) -> str | None:
    if len(word) == 1 and word.isascii():
        if word not in LONE_LETTERS or (apart and word in {"A", "d", "B", "t", "s"}):
            return None
        return UNITS[word].symbol
    if low == "in" and apart:
        return None
    unit = UNITS.get(word) or UNITS.get(low)
    return unit.symbol if unit is not None else None


_HEDGE_BEFORE = re.compile(
    r"(?<![^\W_])("
    + "|".join(re.escape(words) for words in sorted(HEDGES_BEFORE, key=len, reverse=True))
    + r")[ \x00]*(?:(?:the|a|an|die|der|das|les|la|el|los|las) )?\Z",
    re.IGNORECASE,
)
_HEDGE_BEFORE_CJK = re.compile(
    "("
    + "|".join(sorted((words for words in HEDGES_BEFORE if _CJK.match(words)), key=len, reverse=True))
    + r")[ \x00]*\Z"
)
_HEDGE_AFTER = re.compile(
    r"[ \x00]*("
    + "|".join(re.escape(words) for words in sorted(HEDGES_AFTER, key=len, reverse=True))
    + r")(?![A-Za-z])",
    re.IGNORECASE,
)


def _hedge(text: str, start: int, end: int, floor: int) -> Hedge | None:
    window = max(floor, start - 24)
    before = _HEDGE_BEFORE.search(text, window, start) or _HEDGE_BEFORE_CJK.search(text, window, start)
    if before is not None:
        return HEDGES_BEFORE[before.group(1).lower()]
    after = _HEDGE_AFTER.match(text, end)
    return HEDGES_AFTER[after.group(1).lower()] if after is not None else None


def _spread_ranges(text: str, items: list[Item], powers: list[int]) -> list[Item]:
    """In "10-20 million km" the first number too has the magnitude and the unit."""
    for index in range(len(items) - 1):
        first, second, power = items[index], items[index + 1], powers[index + 1]
        if second.start - first.end > 12 or powers[index] or (first.unit is not None and power == 0):
            continue
        if first.unit not in (None, second.unit) or _RANGE.fullmatch(text, first.end, second.start) is None:
            continue
        if power or second.unit is not None:
            items[index] = replace(
                first,
                kind=second.kind,
                unit=second.unit,
                value=shift(first.value, power),
                others=(first.value, *first.others) if power else first.others,
            )
    return items
