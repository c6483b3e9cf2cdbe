"""Identifiers: order numbers, codes, UUIDs, hashes, versions, phone numbers; found with or without their prefix."""

import re

from .items import Item
from .magnitudes import CURRENCIES, magnitude
from .units import UNITS
from .vocabulary import words

__all__ = ["identifier_keys", "read_identifiers"]

_WHOLE = re.compile(
    # UUID
    r"(?<![\w-])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![\w-])"
    # phone numbers: +49 30 1234567, (555) 123-4567, 555-123-4567
    r"|(?<![\w+])\+\d{1,3}(?:[ .\-/]?\(?\d{1,5}\)?){2,6}(?!\d)"
    r"|(?<![\w(])\(\d{2,5}\)[ .\-]?\d{2,5}(?:[ .\-]\d{2,5}){0,3}(?!\d)"
    # digits in several groups with dashes: 555-123-4567, ISBN, social security numbers
    r"|(?<![\w.,\-])\d{1,9}(?:-\d{1,9}){2,6}(?![\w-])"
    # versions and network addresses; three digits in every later group would be a grouped number
    r"|(?<![\w.])[vV]?\d{1,5}(?:\.\d{1,5}){2,4}(?:-?(?:rc|alpha|beta|a|b|dev|post)\.?\d{0,3})?(?![\w]|\.\d)"
    r"|(?<![\w.])[vV]\d{1,5}(?:\.\d{1,5})?(?![\w]|\.\d)"
    # letters and digits mixed, with dashes or underscores between
    r"|(?<![A-Za-z0-9_\-])(?<!\d[.,'])(?=[A-Za-z_#/-]{0,80}\d)#?[A-Za-z0-9_]*[A-Za-z0-9](?:[-_/]?[A-Za-z0-9_]+){0,12}"
)
_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+")
_NUMBER_AND_WORD = re.compile(r"(\d+)[-_]?([A-Za-zµ]+)(?:[-_][A-Za-z]+)*")
_HOURS = re.compile(r"(?:\d+(?:h|m|min|s|d|hr|hrs|w))+")
_DECIMALS = re.compile(r"[.,]\d")
_GROUP_BEFORE = re.compile(r"\d[ ]\Z")
_DIGITS = re.compile(r"\d+")
_EXPONENT = re.compile(r"\d+[eE]\d{1,2}")
_LETTERS_AND_DIGITS = re.compile(r"([A-Za-z]+)(\d+)([kKMB]?)")
_DOTTED = re.compile(r"v\d+(?:\.\d+)*|\d+(?:\.\d+)+")
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")


def read_identifiers(text: str, original: str, _language: str) -> list[Item]:
    """The identifiers of a folded text; a number with its unit ("5kg", "3rd", "3-day") is none."""
    items: list[Item] = []
    for found in _WHOLE.finditer(text):
        start, end = found.span()
        word = found.group()
        if word.isdigit() and not _is_padded(text, start, end):  # a number, as most are
            continue
        end = _without_words(text, start, start + len(word.rstrip("-_/")))
        word = text[start:end]
        if _is_padded(text, start, end) if word.isdigit() else _is_identifier(word):
            items.append(Item(kind="identifier", text=original[start:end], start=start, end=end, value=_normal(word)))
    return items


def _without_words(text: str, start: int, end: int) -> int:
    """The end of a chain without the plain words that end it: of "item-5-related" the code is "item-5"."""
    while True:
        cut = max(text.rfind("-", start, end), text.rfind("/", start, end))
        tail = text[cut + 1 : end]
        if cut <= start or not tail.isalpha() or tail.upper() == tail or not re.search(r"\d", text[start:cut]):
            return end
        end = cut


def _is_padded(text: str, start: int, end: int) -> bool:
    """True for digits with a zero before them that are no group of a longer number (`1 000`) and no `00.5`."""
    if text[start] != "0" or end - start == 1 or _DECIMALS.match(text, end) is not None:
        return False
    return end - start != 3 or _GROUP_BEFORE.search(text, max(0, start - 2), start) is None


def _is_identifier(word: str) -> bool:
    if word.startswith("#"):
        return any(character.isdigit() for character in word)
    if not any(character.isdigit() for character in word):
        return False
    if not any(character.isalpha() for character in word):
        parts = _DIGITS.findall(word)
        return _GROUPED.fullmatch(word) is None and "/" not in word and (len(parts) > 2 or word[0] in "+(")
    if _HOURS.fullmatch(word) or _EXPONENT.fullmatch(word):
        return False
    number = _NUMBER_AND_WORD.fullmatch(word)
    if number is not None:
        suffix = number.group(2)
        joined = word[len(number.group(1))] not in "-_"
        return joined and not _is_suffix(suffix)
    letters = _LETTERS_AND_DIGITS.fullmatch(word)
    return letters is None or letters.group(1).lower() not in CURRENCIES


_SUFFIXES = words("st nd rd th s x am pm er e ème ers pp ish in ft")


def _is_suffix(word: str) -> bool:
    low = word.lower()
    return low in _SUFFIXES or low in UNITS or word in UNITS or low in CURRENCIES or magnitude(word, "en") is not None


def _normal(word: str) -> str:
    return word.lower().lstrip("#").replace("\x00", "")


def identifier_keys(value: str) -> tuple[str, ...]:
    """What an identifier is looked up by: itself, then its letters and digits alone, then its digits alone.

    The digits alone (the identifier without its prefix) count from three on, and only where they stand in one piece.
    A version or a network address is looked up with its points.
    """
    if _DOTTED.fullmatch(value) is not None:
        return (value.lstrip("v"),)
    plain = _NOT_ALPHANUMERIC.sub("", value)
    keys = [value, plain]
    groups = _DIGITS.findall(value)
    if groups and not any(character.isalpha() for character in value):
        keys.append("".join(groups).lstrip("0"))
    elif groups:
        longest = max(groups, key=len)
        if len(longest) >= 3 and value.endswith(longest):
            keys.append(longest)
            keys.append(longest.lstrip("0"))
    return tuple(dict.fromkeys(key for key in keys if key))
