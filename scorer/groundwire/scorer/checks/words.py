"""Number words: English numbers spelled out ("twenty-one", "three point five million", "two dozen")."""

import re
from dataclasses import dataclass

from .folding import GAP
from .items import Item
from .magnitudes import CURRENCIES, PERCENT, magnitude
from .numerals import canonical, shift
from .units import UNITS

__all__ = ["read_number_words"]

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_TENS = "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
_LARGE = "hundred thousand million billion trillion"
_ORDINALS = (
    "fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth twentieth thirtieth"
)
_ENDINGS = "first second third"
_ONE = "|".join(f"{_UNITS} {_TENS} {_LARGE} {_ORDINALS} dozen".split())
_RUN = re.compile(
    r"(?=[a-zA-Z])(?<![\w'-])(?=[bdefhmnostzBDEFHMNOSTZ])"
    rf"(?:{_ONE})(?:(?:[ ]|-)(?:and[ ])?(?:point[ ])?(?:{_ONE}|{'|'.join(_ENDINGS.split())}))*(?![\w'])",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[A-Za-z]+|[^A-Za-z]")
_AFTER = re.compile(rf"{GAP}-?{GAP}(per cent|[a-z]+)", re.IGNORECASE)
_LOOSE = frozenset(
    ("one", "zero", "two", "three", "ten", "hundred", "thousand", "million", "billion", "trillion", "dozen")
)


@dataclass(frozen=True)
class _Token:
    """One word in the shape that text2num reads."""

    word: str

    def text(self) -> str:
        """The word itself."""
        return self.word

    def nt_separated(self, _previous: "_Token") -> bool:
        """Nothing but the text parts two words."""
        return False

    def not_a_number_part(self) -> bool:
        """Every word may be one."""
        return False


def read_number_words(text: str, _original: str, _language: str) -> list[Item]:
    """The English number words of a folded text. "One", "two" and a bare "hundred" are loose: they may "
    "count nothing."""
    items: list[Item] = []
    for run in _RUN.finditer(text):
        items.extend(_read_run(text, run.start(), run.group()))
    return items


def _read_run(text: str, offset: int, run: str) -> list[Item]:
    from text_to_num import find_numbers

    low = run.lower()
    if low.endswith("dozen") and low != "dozen":
        counted = _read_run(text, offset, run[: -len("dozen")].rstrip(" -"))
        if len(counted) == 1 and counted[0].value.isdigit() and counted[0].end <= offset + len(run):
            return [_item(text, offset, offset + len(run), str(int(counted[0].value) * 12), loose=False)]
        return counted
    if low == "dozen":
        return [_item(text, offset, offset + len(run), "12", loose=True)]
    words = _TOKEN.findall(low)
    starts: list[int] = []
    at = offset
    for word in words:
        starts.append(at)
        at += len(word)
    items: list[Item] = []
    for number in find_numbers([_Token(word) for word in words], "en", 0):
        start, end = starts[number.start], starts[number.end - 1] + len(words[number.end - 1])
        if number.is_ordinal and "".join(words[number.start : number.end]) in _ENDINGS.split():
            continue
        value = _value(number.text)
        if items and text[items[-1].end : start] == " " and (power := magnitude(text[start:end], "en")) is not None:
            first = items.pop()
            items.append(_item(text, first.start, end, shift(first.value, power), loose=False))
            continue
        items.append(_item(text, start, end, value, loose=text[start:end].lower() in _LOOSE))
    return items


def _value(text: str) -> str:
    whole, _, fraction = re.sub(r"[^\d.]", "", text).partition(".")
    return canonical(whole, fraction)


def _item(text: str, start: int, end: int, value: str, *, loose: bool) -> Item:
    after = _AFTER.match(text, end)
    word = after.group(1).lower() if after is not None else ""
    if (after is not None and word in PERCENT) or (word in CURRENCIES and len(word) > 3):
        return Item(
            kind="number",
            text=text[start : after.end()],  # type: ignore[union-attr]
            start=start,
            end=after.end(),  # type: ignore[union-attr]
            value=value,
            unit="%" if word in PERCENT else CURRENCIES[word],
        )
    if after is not None and len(word) > 2 and word in UNITS and UNITS[word].dimension != "angle":
        return Item(
            kind="unit",
            text=text[start : after.end()],
            start=start,
            end=after.end(),
            value=value,
            unit=UNITS[word].symbol,
            loose=loose and value == "1",
        )
    return Item(kind="number", text=text[start:end], start=start, end=end, value=value, loose=loose)
