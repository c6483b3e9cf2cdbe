"""Numerals: digits with separators read as exact decimal strings, in the conventions of several locales."""

import re
from fractions import Fraction

from .vocabulary import words

__all__ = ["LONGEST", "NUMERAL", "canonical", "decimal_comma", "exact", "parse_numeral", "shift", "written"]

LONGEST = 40
"""Most digits of a number that is calculated with; longer ones are compared as strings."""

# Grouping by blank, apostrophe, comma, point; Indian grouping; then a bare decimal. `(?![\d])` keeps groups whole.
NUMERAL = (
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![,\d]\d|\d)"
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?(?![,\d]\d|\d)"
    r"|\d{1,3}(?:\.\d{3})+(?:,\d+)?(?![.\d]\d|\d)"
    r"|\d{1,3}(?:'\d{3})+(?:[.,]\d+)?(?!\d)"
    r"|\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\d)"
    r"|\d+\.\d+(?:[eE][+-]?\d{1,2}(?!\w))?"
    r"|(?<!\d,)\d+,\d+(?!,?\d)"
    r"|\d+(?:[eE][+-]?\d{1,2}(?!\w))?"
    r"|\.\d+)"
)
"""Source of the pattern of one numeral in folded text, without its sign."""

_COMMA_LANGUAGES = words(
    "af be bg bs ca cs da de el es et eu fi fr gl hr hu hy id is it ka kk lt lv mk nb nl nn no pl pt ro ru sk sl sq sr "
    "sv tr uk uz vi"
)
_PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_GROUPABLE = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")


def decimal_comma(language: str) -> bool:
    """True for languages that write the decimal mark as a comma."""
    return language.partition("-")[0].lower() in _COMMA_LANGUAGES


def canonical(whole: str, fraction: str = "", *, negative: bool = False) -> str:
    """The normal form of digits before and after the decimal point: `("0012", "50")` is `12.5`; there is no `-0`."""
    whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    value = f"{whole}.{fraction}" if fraction else whole
    return f"-{value}" if negative and value != "0" else value


def parse_numeral(numeral: str, language: str = "en") -> tuple[str, ...]:
    """The values that a folded numeral can mean, the likeliest in that language first.

    `1,234` is 1234 in English and then 1.234; in German the other way round. `1.234,5` is 1234.5 everywhere.
    """
    text, _, exponent = numeral.lower().partition("e")
    if exponent:
        return tuple(shift(value, int(exponent)) for value in parse_numeral(text, language))
    text = text.replace(" ", "").replace("'", "")
    comma, point = text.count(","), text.count(".")
    if comma and point:
        mark = "," if text.rfind(",") > text.rfind(".") else "."
        whole, _, fraction = text.rpartition(mark)
        return (canonical(re.sub("[.,]", "", whole), fraction),)
    if comma > 1 or point > 1:
        return (canonical(re.sub("[.,]", "", text)),)
    whole, _, fraction = text.replace(",", ".").partition(".")
    value = canonical(whole, fraction)
    if not _GROUPABLE.fullmatch(numeral):
        return (value,)
    grouped = canonical(whole + fraction)
    if bool(comma) == decimal_comma(language):
        return value, grouped
    return grouped, value


def shift(value: str, places: int) -> str:
    """Ten to the power of `places` times the value, exactly (`("1.2", 6)` is `1200000`)."""
    negative = value.startswith("-")
    whole, _, fraction = value.lstrip("-").partition(".")
    if places >= 0:
        fraction = fraction.ljust(places, "0")
        return canonical(whole + fraction[:places], fraction[places:], negative=negative)
    whole = whole.rjust(1 - places, "0")
    return canonical(whole[:places], whole[places:] + fraction, negative=negative)


def exact(value: str) -> Fraction | None:
    """The number behind a normal form, or None where it is too long to calculate with or is no number."""
    if len(value) > LONGEST or _PLAIN.fullmatch(value) is None:  # an exponent would ask for any amount of memory
        return None
    return Fraction(value)


def written(value: str, numeral: str, places: int) -> str:
    """The unit of the last digit that a numeral writes, as a normal form: `0.1` of 2.5, `1` of 12, `100` of 1,200.

    The zeros at the end of a whole number are taken as rounded. `places` is the power of ten of the magnitude word.
    """
    _, _, fraction = shift(value, -places).lstrip("-").partition(".")
    mark = re.search(r"[.,](\d+)$", numeral)
    digits = max(len(fraction), len(mark.group(1)) if mark and fraction else 0)
    if fraction:
        return shift("1", places - digits)
    whole = shift(value, -places).lstrip("-")
    zeros = len(whole) - len(whole.rstrip("0")) if whole != "0" else 0
    return shift("1", places + zeros)
