"""Dates and times of day: ISO 8601, with month names, numeric, Chinese and Japanese; nothing is relative to now.

A normal form is a date (`2024-05-03`), a date without year (`--05-03`) or day (`2024-05`), a time (`T14:30`,
`T14:30:05`), or both (`2024-05-03T14:30`), with `Z` or an offset where the text gives one.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from .calendars import MONTHS, is_month
from .folding import GAP
from .items import Item

__all__ = ["days_before", "read_dates"]

_WORD = r"[^\W぀-ヿ㐀-鿿가-힯]"
"""A character of a word that a date can't touch; scripts without spaces write dates right beside words."""
_YEAR = r"(?:1\d|20|21)\d{2}"
_TIME = r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?"
_ZONE = r"(?:Z(?![A-Za-z])|[+-](?:0\d|1[0-4]):?[0-5]\d(?!\d)|(?:[ ](?:UTC|GMT)(?![A-Za-z])))"
_MERIDIEM = rf"{GAP}(?:a\.?{GAP}m\.?|p\.?{GAP}m\.?)(?![A-Za-z])"

_PATTERNS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (name, needed, re.compile(pattern, re.IGNORECASE))
    for name, needed, pattern in (
        (
            "iso",
            "-",
            rf"(?<!{_WORD})(?<!\.)(?P<y>{_YEAR})-(?P<m>\d{{2}})-(?P<d>\d{{2}})"
            rf"(?:(?:T|[ ])(?P<t>{_TIME})(?P<z>{_ZONE})?)?(?![\d-])",
        ),
        ("iso", "/", rf"(?<![\w./])(?P<y>{_YEAR})/(?P<m>\d{{1,2}})/(?P<d>\d{{1,2}})(?![\d/])"),
        (
            "cjk",
            "月월",
            rf"(?:(?P<y>(?<!\d)\d{{4}}){GAP}[年년]{GAP})?(?P<m>(?<!\d)\d{{1,2}}){GAP}[月월](?!间)"
            rf"(?:{GAP}(?P<d>\d{{1,2}}){GAP}[日号號일])?",
        ),
        ("cjk", "年년", rf"(?P<y>(?<!\d)\d{{4}}){GAP}[年년](?![\d间間])(?P<m>)(?P<d>)"),
        ("numeric", "./-", r"(?<![\w./,-])(?P<a>\d{1,2})(?P<s>[./-])(?P<b>\d{1,2})(?P=s)(?P<y>\d{4})(?![\w/-]|\.\d)"),
        ("numeric", "./", r"(?<![\w./,-])(?P<a>\d{1,2})(?P<s>[./])(?P<b>\d{1,2})(?P=s)(?P<y>\d{2})(?![\w/-]|\.\d)"),
        ("short", ".", r"(?<![\w./,-])(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?![\w.])"),
        (
            "time",
            ":",
            rf"(?<!{_WORD})(?<![:.])(?P<t>{_TIME})(?P<ap>{_MERIDIEM})?(?P<z>(?<=\d){_ZONE})?(?!{_WORD}|:|\.\d)",
        ),
        ("hour", "mM", rf"(?<![\w:.,$€£])(?P<h>1[0-2]|0?\d)(?P<ap>{_MERIDIEM})"),
        (
            "hour",
            "hH",
            rf"(?<![\w:.,$€£])(?P<h>[01]?\d|2[0-4])(?:{GAP}h{GAP}|[.:])(?P<mi>[0-5]\d)(?:{GAP}(?:Uhr|h))?"
            rf"(?!\w|[.,]\d|{GAP}m)",
        ),
        ("hour", "hH", rf"(?<![\w:.,$€£])(?P<h>[01]?\d|2[0-4]){GAP}Uhr(?:{GAP}(?P<mi>[0-5]\d)(?!\d))?"),
        (
            "hour",
            "点點時时시",
            rf"(?P<cjk>上午|下午|晚上|早上|凌晨|中午|午前|午後|오전|오후)?{GAP}(?<!\d)(?P<h>[01]?\d|2[0-4]){GAP}"
            rf"[点點時时시](?!间|間)(?:{GAP}(?P<mi>[0-5]?\d){GAP}[分분])?",
        ),
    )
)
"""Name of the form, characters of which the text must have one, and the pattern."""
_LETTERS = re.compile(r"(?<![^\W_])[^\W\d_]{3,11}(?![^\W\d_])")
_OF = rf"{GAP}(?:,|of the|of|de|del|d'|do|den|')?{GAP}"
_DAY_BEFORE = re.compile(rf"(?<![\w.,:-])(\d{{1,2}})(?:{GAP}(?:st|nd|rd|th|er|º|ª|\.º)|\.)?{_OF}\Z", re.IGNORECASE)
_DAY_AFTER = re.compile(
    rf"\.?{GAP}(?:the{GAP})?(\d{{1,2}})(?:st|nd|rd|th)?(?![^\W_]|[:.%,]\d|{_MERIDIEM})", re.IGNORECASE
)
_YEAR_AFTER = re.compile(rf"\.?{_OF}({_YEAR})(?![^\W_]|[.,:]\d)", re.IGNORECASE)
_AFTERNOON = frozenset(("下午", "晚上", "午後", "오후"))
_DIGIT = re.compile(r"\d")
_POINT_TIME = re.compile(r"\d{1,2}\.\d{2}$")
_MONTH_FIRST = frozenset(("en", "en-us", "tl", "fil"))


def read_dates(text: str, original: str, language: str) -> list[Item]:
    """The dates and times of a folded text, in order; of two readings of one place the longer stands."""
    found: list[Item] = []
    if _DIGIT.search(text) is None:
        return found
    spans: list[tuple[int, int, Iterable[str]]] = list(_named(text, language))
    for name, needed, pattern in _PATTERNS:
        if any(character in text for character in needed):
            spans.extend((*match.span(), _values(name, match, language)) for match in pattern.finditer(text))
    for start, end, readings in spans:
        values = tuple(dict.fromkeys(readings))
        if values:
            while text[end - 1] in " \t\x00":
                end -= 1
            while text[start] in " \t\x00":
                start += 1
            found.append(
                Item(kind="date", text=original[start:end], start=start, end=end, value=values[0], others=values[1:])
            )
    found.sort(key=lambda item: (item.start, -item.end))
    kept: list[Item] = []
    for item in found:
        if not kept or item.start >= kept[-1].end:
            kept.append(item)
        elif item.end - item.start > kept[-1].end - kept[-1].start:
            kept[-1] = item
    return kept


def _named(text: str, language: str) -> Iterator[tuple[int, int, Iterable[str]]]:
    """The dates with a month's name: start, end and value of each."""
    for word in _LETTERS.finditer(text):
        name = word.group().lower()
        month = MONTHS.get(name)
        if month is None or not is_month(name, language):
            continue
        start, end = word.span()
        before = _DAY_BEFORE.search(text, max(0, start - 14), start)
        after = _DAY_AFTER.match(text, end) if before is None else None
        day = before or after
        year = _YEAR_AFTER.match(text, after.end() if after is not None else end)
        if day is None and year is None:
            continue
        value = _day(year.group(1) if year is not None else None, str(month), day.group(1) if day is not None else None)
        if value is not None:
            last = max(match.end() for match in (word, after, year) if match is not None)
            yield before.start(1) if before is not None else start, last, [value]


def _values(name: str, match: re.Match[str], language: str) -> Iterator[str]:
    part = match.groupdict()
    match name:
        case "iso":
            day = _day(part["y"], part["m"], part["d"])
            if day is not None:
                time = part.get("t")
                yield day + (_clock(time) + _offset(part.get("z")) if time else "")
        case "cjk":
            value = _day(part["y"], part["m"] or None, part["d"] or None)
            if value is not None:
                yield value
        case "numeric":
            yield from _numeric(part["a"], part["b"], part["y"], part["s"], language)
        case "short":
            value = _day(None, part["m"], part["d"])
            if value is not None:
                yield value
        case "time":
            yield from _times(part["t"], part["ap"], part["z"])
        case _:
            yield from _hours(match, part, language)


def _numeric(one: str, two: str, year: str, separator: str, language: str) -> Iterator[str]:
    if len(year) == 2:
        year = ("20" if int(year) < 70 else "19") + year
    month_first, day_first = _day(year, one, two), _day(year, two, one)
    prefers_month = separator != "." and language.lower() in _MONTH_FIRST
    for value in (month_first, day_first) if prefers_month else (day_first, month_first):
        if value is not None:
            yield value


def _times(time: str, meridiem: str | None, zone: str | None) -> Iterator[str]:
    clock = _clock(time)
    hour = int(clock[1:3])
    if meridiem:
        yield _half(hour, clock[3:], afternoon="p" in meridiem.lower())
        return
    yield clock + _offset(zone)
    if hour < 12 and not zone and not time.startswith("0"):
        yield f"T{hour + 12:02d}{clock[3:]}"


def _hours(match: re.Match[str], part: dict[str, str | None], language: str) -> Iterator[str]:
    hour, minute = int(part["h"] or 0), int(part.get("mi") or 0)
    meridiem = part.get("ap")
    if meridiem:
        yield _half(hour, f":{minute:02d}", afternoon="p" in meridiem.lower())
        return
    if _POINT_TIME.search(match.group()) or (language.lower().startswith("en") and ":" in match.group()):
        return  # "14.30" alone is a number
    if part.get("cjk"):
        yield _half(hour, f":{minute:02d}", afternoon=part["cjk"] in _AFTERNOON)
        return
    yield f"T{hour:02d}:{minute:02d}"


def _half(hour: int, rest: str, *, afternoon: bool) -> str:
    hour = hour % 12 + (12 if afternoon else 0) if hour <= 12 else hour
    return f"T{hour:02d}{rest}"


def _day(year: str | None, month: str | None, day: str | None) -> str | None:
    """The normal form of a date, or None where there is no such day (29 February needs a leap year)."""
    if month is None:
        return year
    if not 1 <= int(month) <= 12:
        return None
    if day is None:
        return f"{year}-{int(month):02d}" if year else None
    try:
        date(int(year) if year else 2024, int(month), int(day))
    except ValueError:
        return None
    return f"{year or '-'}-{int(month):02d}-{int(day):02d}"


def _clock(time: str) -> str:
    """`T14:30` or `T14:30:05`; a full minute needs no seconds, and parts of a second are left out."""
    hour, minute, *second = re.split(r"[.,]", time)[0].split(":")
    tail = f":{second[0]}" if second and second[0] != "00" else ""
    return f"T{int(hour):02d}:{minute}{tail}"


def _offset(zone: str | None) -> str:
    if not zone:
        return ""
    zone = zone.strip().upper()
    if zone in {"Z", "UTC", "GMT"} or zone[1:].replace(":", "") == "0000":
        return "Z"
    digits = zone[1:].replace(":", "")
    return f"{zone[0]}{digits[:2]}:{digits[2:]}"


def days_before(value: str) -> tuple[str, ...]:
    """The normal form of the day before a date (two before a 1 March of no year); nothing of what is no day."""
    pieces = value.partition("T")[0].rsplit("-", 2)
    if len(pieces) != 3:
        return ()
    year = pieces[0]
    days: list[str] = []
    for of in (2023, 2024) if year == "-" else (int(year),):
        try:
            before = date(of, int(pieces[1]), int(pieces[2])) - timedelta(days=1)
        except (ValueError, OverflowError):
            continue
        days.append(f"{year if year == '-' else before.year}-{before.month:02d}-{before.day:02d}")
    return tuple(dict.fromkeys(days))
