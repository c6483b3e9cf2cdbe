"""Reading: every checkable item of a text, each place read once."""

from .dates import read_dates
from .folding import fold, mask
from .identifiers import read_identifiers
from .items import Item
from .links import read_emails, read_urls
from .names import read_names
from .numbers import read_numbers
from .quotations import read_quotations
from .words import read_number_words

__all__ = ["read_items", "read_values"]


def read_items(text: str, *, language: str = "en") -> tuple[Item, ...]:
    """Every number, date, quantity, identifier, address, quotation and name of a text, in order.

    A place has one reading (a date is no three numbers, a number inside a code is no number). Quotations alone may
    hold other items, which are then read too, names excepted. `language` is a BCP 47 tag: it decides what is
    ambiguous (`1.234`, `03/04/2024`, "billion"); everything else is read in all languages alike.
    """
    values, rest = _read(text, language)
    quotations = read_quotations(text)
    names = [
        name
        for name in read_names(rest, text, language)
        if all(name.end <= quotation.start or name.start >= quotation.end for quotation in quotations)
    ]
    return tuple(sorted([*values, *quotations, *names], key=lambda item: (item.start, -item.end)))


def read_values(text: str, *, language: str = "en") -> list[Item]:
    """As `read_items`, without quotations and names: what evidence is indexed by."""
    return sorted(_read(text, language)[0], key=lambda item: item.start)


def _read(text: str, language: str) -> tuple[list[Item], str]:
    """The items with a value, and the folded text in which they are masked."""
    items: list[Item] = []
    folded = fold(text)
    for found in (read_urls(text), read_emails(folded, text)):
        fresh = [item for item in found if all(item.end <= other.start or item.start >= other.end for other in items)]
        items.extend(fresh)
    items.sort(key=lambda item: item.start)
    folded = _masked(folded, items)
    for read in (read_dates, _identifiers, _numbers, _words):
        found = read(folded, text, language)
        folded = _masked(folded, found)
        items.extend(found)
    return items, folded


def _masked(text: str, items: list[Item]) -> str:
    return mask(text, [(item.start, item.end) for item in items])


def _identifiers(folded: str, text: str, _language: str) -> list[Item]:
    return read_identifiers(folded, text)


def _numbers(folded: str, text: str, language: str) -> list[Item]:
    return [_as_written(item, text) for item in read_numbers(folded, language)]


def _words(folded: str, text: str, _language: str) -> list[Item]:
    return [_as_written(item, text) for item in read_number_words(folded)]


def _as_written(item: Item, text: str) -> Item:
    """The item with the text's own characters in place of the folded ones."""
    written = text[item.start : item.end]
    if written == item.text:
        return item
    from dataclasses import replace

    return replace(item, text=written)
