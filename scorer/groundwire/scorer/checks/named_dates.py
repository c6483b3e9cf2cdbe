"""Named dates: those with the name of a month, in any of its languages; ranges of days are two dates."""

import re
from collections.abc import Iterable, Iterator

from .calendars import MONTHS, day_value, is_month
from .folding import GAP

__all__ = ["YEAR", "named_dates"]

YEAR = r"(?:1\d|20|21)\d{2}"
"""Source of the pattern of a year."""

_LETTERS = re.compile(r"(?<![^\W_])[^\W\d_]{3,11}(?![^\W\d_])")
_OF = rf"{GAP}(?:,|of the|of|de|del|d'|do|den|')?{GAP}"
_NTH = rf"(?:{GAP}(?:st|nd|rd|th|er|º|ª|\.º)|\.)?"
_TO = rf"{_NTH}{GAP}(?:-|to|and|until|bis|und|au|et|al|a|y|e|tot|en|по|и){GAP}"
_DAYS_BEFORE = re.compile(rf"(?<![\w.,:-])(?:(?P<first>\d{{1,2}}){_TO})?(?P<day>\d{{1,2}}){_NTH}{_OF}\Z", re.IGNORECASE)
_MERIDIEM = rf"{GAP}[ap]\.?{GAP}m\.?(?![A-Za-z])"
_DAYS_AFTER = re.compile(
    rf"\.?{GAP}(?:the{GAP})?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![^\W_]|[:.%,]\d|{_MERIDIEM})"
    rf"(?:{GAP}(?:-|to|and){GAP}(?P<last>\d{{1,2}})(?:st|nd|rd|th)?(?![^\W_]|[:.%]\d|{_MERIDIEM}))?",
    re.IGNORECASE,
)
_YEAR_AFTER = re.compile(rf"\.?{_OF}({YEAR})(?![^\W_]|[.,:]\d)", re.IGNORECASE)
_SHORT_YEAR_AFTER = re.compile(r"\.?[ ]?'?(\d{2})(?![^\W_]|[.,:%]\d|[ \x00]*[^\W\d_])")


def named_dates(text: str, language: str) -> Iterator[tuple[int, int, Iterable[str]]]:
    """The dates of a folded text that name their month: start, end and values of each.

    "12-18 April 2015" is 12 April 2015, which stands at "12", and 18 April 2015. "15 Jul 19" has a year or has none.
    """
    for word in _LETTERS.finditer(text):
        name = word.group().lower()
        if name not in MONTHS or not is_month(name, language):
            continue
        month = str(MONTHS[name])
        before = _DAYS_BEFORE.search(text, max(0, word.start() - 22), word.start())
        if before is not None:
            yield from _day_first(text, word.end(), before, month)
            continue
        after = _DAYS_AFTER.match(text, word.end())
        year = _YEAR_AFTER.match(text, after.end() if after is not None else word.end())
        number = year.group(1) if year is not None else None
        value = day_value(number, month, after.group("day") if after is not None else None)
        if (after is None and year is None) or value is None:
            continue
        end = max(match.end() for match in (word, after, year) if match is not None)
        last = day_value(number, month, after.group("last")) if after is not None and after.group("last") else None
        if after is not None and last is not None:
            yield word.start(), after.end("day"), [value]
            yield after.start("last"), end, [last]
        else:
            yield word.start(), end, [value]


def _day_first(text: str, end: int, before: re.Match[str], month: str) -> Iterator[tuple[int, int, Iterable[str]]]:
    year = _YEAR_AFTER.match(text, end)
    short = _SHORT_YEAR_AFTER.match(text, end) if year is None else None
    number = year.group(1) if year is not None else None
    value = day_value(number, month, before.group("day"))
    if value is None:
        return
    first = day_value(number, month, before.group("first")) if before.group("first") else None
    if first is not None:
        yield before.start("first"), before.end("first"), [first]
    if short is not None and (dated := day_value(f"20{short.group(1)}", month, before.group("day"))) is not None:
        yield before.start("day"), short.end(), [value, dated]
    else:
        yield before.start("day"), year.end() if year is not None else end, [value]
