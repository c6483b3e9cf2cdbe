"""Dates and times of day: ISO 8601, with month names, numeric, Chinese and Japanese; nothing is relative to now.

A normal form is a date (`2024-05-03`), a date without year (`--05-03`) or day (`2024-05`), a time (`T14:30`,
`T14:30:05`), or both (`2024-05-03T14:30`), with `Z` or an offset where the text gives one.
"""

import re
from collections.abc import Iterable, Iterator

from .calendars import day_value
from .folding import GAP
from .items import Item
from .named_dates import YEAR, named_dates

__all__ = ["read_dates"]

_WORD = r"[^\W぀-ヿ㐀-鿿가-힯]"
"""A character of a word that a date can't touch; scripts without spaces write dates right beside words."""
_TIME = r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?"
_ZONE = r"(?:Z(?![A-Za-z])|[+-](?:0\d|1[0-4]):?[0-5]\d(?!\d)|(?:[ ](?:UTC|GMT)(?![A-Za-z])))"
_MERIDIEM = rf"{GAP}(?:a\.?{GAP}m\.?|p\.?{GAP}m\.?)(?![A-Za-z])"

_PATTERNS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (name, needed, re.compile(pattern, re.IGNORECASE))
    for name, needed, pattern in (
        (
            "iso",
            "-",
            rf"(?<!{_WORD})(?<!\.)(?P<y>{YEAR})-(?P<m>\d{{2}})-(?P<d>\d{{2}})"
            rf"(?:(?:T|[ ])(?P<t>{_TIME})(?P<z>{_ZONE})?)?(?![\d-])",
        ),
        ("iso", ".", rf"(?<![\w./])(?P<y>{YEAR})\.(?P<m>\d{{2}})\.(?P<d>\d{{2}})(?![\d.]\d)"),
        ("iso", "/", rf"(?<![\w./])(?P<y>{YEAR})/(?P<m>\d{{1,2}})/(?P<d>\d{{1,2}})(?![\d/])"),
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
_AFTERNOON = frozenset(("下午", "晚上", "午後", "오후"))
_DIGIT = re.compile(r"\d")
_POINT_TIME = re.compile(r"\d{1,2}\.\d{2}$")
_MONTH_FIRST = frozenset(("en", "en-us", "tl", "fil"))


def read_dates(text: str, original: str, language: str) -> list[Item]:
    """The dates and times of a folded text, in order; of two readings of one place the longer stands."""
    found: list[Item] = []
    if _DIGIT.search(text) is None:
        return found
    spans: list[tuple[int, int, Iterable[str]]] = list(named_dates(text, language))
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


def _values(name: str, match: re.Match[str], language: str) -> Iterator[str]:
    part = match.groupdict()
    match name:
        case "iso":
            day = day_value(part["y"], part["m"], part["d"])
            if day is not None:
                time = part.get("t")
                yield day + (_clock(time) + _offset(part.get("z")) if time else "")
        case "cjk":
            value = day_value(part["y"], part["m"] or None, part["d"] or None)
            if value is not None:
                yield value
        case "numeric":
            yield from _numeric(part["a"], part["b"], part["y"], part["s"], language)
        case "short":
            value = day_value(None, part["m"], part["d"])
            if value is not None:
                yield value
        case "time":
            yield from _times(part["t"], part["ap"], part["z"])
        case _:
            yield from _hours(match, part, language)


def _numeric(one: str, two: str, year: str, separator: str, language: str) -> Iterator[str]:
    if len(year) == 2:
        year = ("20" if int(year) < 70 else "19") + year
    month_first, day_first = day_value(year, one, two), day_value(year, two, one)
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
