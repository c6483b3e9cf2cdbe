"""Reading: every checkable item of a text, each place read once."""

from collections.abc import Callable
from functools import partial

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

_Reader = Callable[[str, str, str], list[Item]]
"""Reads a folded text; the second argument is the text before folding, the third its language."""


def read_items(text: str, *, language: str = "en") -> tuple[Item, ...]:
    """Every number, date, quantity, identifier, address, quotation and name of a text, in order.

    A place has one reading (a date is no three numbers, a number inside a code is no number). Quotations alone may
    hold other items, which are then read too, names excepted. `language` is a BCP 47 tag: it decides what is
    ambiguous (`1.234`, `03/04/2024`, "billion"); everything else is read in all languages alike.
    """
    values, rest = _read(text, language, hedges=True)
    quotations = read_quotations(text)
    names = [
        name
        for name in read_names(rest, text, language)
        if all(name.end <= quotation.start or name.start >= quotation.end for quotation in quotations)
    ]
    return tuple(sorted([*values, *quotations, *names], key=lambda item: (item.start, -item.end)))


def read_values(text: str, *, language: str = "en") -> list[Item]:
    """As `read_items`, without quotations, names and hedges: what evidence is indexed by. In no order."""
    return _read(text, language, hedges=False)[0]


def _read(text: str, language: str, *, hedges: bool) -> tuple[list[Item], str]:
    """The items with a value, and the folded text in which they are masked."""
    items = read_urls(text)
    folded = mask(fold(text), items)
    readers: tuple[_Reader, ...] = (
        read_emails,
        read_dates,
        read_identifiers,
        read_numbers if hedges else partial(read_numbers, hedges=False),
        read_number_words,
    )
    for read in readers:
        found = read(folded, text, language)
        folded = mask(folded, found)
        items.extend(found)
    return items, folded
