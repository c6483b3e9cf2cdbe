"""The evidence index: every value of a view's blocks, found by its normal form, with its block, path and writing."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

from groundwire.scorer.evidence import Shown, View

from .closure import Closure
from .contradiction import Contradictions
from .data import Branch, Leaf, read_leaves
from .folding import BARRIER
from .identifiers import identifier_keys
from .items import Item, ItemKind
from .magnitudes import CURRENCIES
from .names import evidence_words
from .numerals import LONGEST, canonical, exact, shift
from .places import Place, split_key
from .reading import read_values
from .units import base, key_unit

__all__ = ["EvidenceIndex", "date_keys"]

_BETWEEN = f"\n{BARRIER}\n"
"""Parts two pieces of evidence that are read in one pass."""
_CUT_MARK = re.compile(r"[ ]*\[…\d+ characters cut\]")
_COUNTED = re.compile(r"[a-z]{2,}-([1-9]\d{0,3})")
_NEXT_DAY = re.compile(r"\d:\d\d[ ]?(?:[ap]m[ ]?)?\(?\+1\b(?!\d|:)", re.IGNORECASE)
_DATE = re.compile(r"(?P<day>(?:\d{4}|-)-\d{2}-\d{2}|\d{4}(?:-\d{2})?)?(?P<time>T[\d:]+)?(?P<zone>Z|[+-][\d:]+)?\Z")


class EvidenceIndex:
    """What a view's blocks hold, looked up by value. Build it once per view with `EvidenceIndex.of`.

    Reads what is shown (`Shown.text`), not what was cut, and no arguments of tool calls. The values of failed tools are
    kept apart, in `failures`: they are evidence of the failure and of nothing else.
    """

    def __init__(
        self, shown: Iterable[Shown], *, language: str = "en", failures: "EvidenceIndex | None" = None
    ) -> None:
        self.language = language
        self.shown = tuple(shown)
        """The blocks that are searched."""
        self.failures = failures
        """The index of the failed blocks; None where none failed."""
        self.places: list[Place] = []
        """Every value with its surroundings, in block order."""
        self.branches: list[Branch] = []
        """The objects and lists of the JSON among the blocks."""
        self.leaves: list[tuple[Leaf, Shown]] = []
        """The JSON leaves and prose of the blocks."""
        for block in self.shown:
            self._read(block)
        self._by_value: dict[str, list[Place]] = {}
        self._by_unit: dict[tuple[str, Fraction], list[Place]] = {}
        for place in self.places:
            for key in _keys(place.item):
                self._by_value.setdefault(key, []).append(place)
            if place.item.kind == "unit":
                for value in place.item.values:
                    measure = base(value, place.item.unit or "")
                    if measure is not None:
                        self._by_unit.setdefault(measure, []).append(place)

    @classmethod
    def of(cls, view: View, *, language: str = "en") -> Self:
        """Index a view; `language` decides what is ambiguous in its prose."""
        failed = [shown for shown in view.shown if shown.block.failed]
        return cls(
            (shown for shown in view.shown if not shown.block.failed),
            language=language,
            failures=cls(failed, language=language) if failed else None,
        )

    @property
    def items(self) -> tuple[Item, ...]:
        """Every value of the evidence, each with its block and, of data, its JSON path."""
        return tuple(place.item for place in self.places)

    def at(self, key: str) -> list[Place]:
        """The places of a value under one of the keys that `keys_of` gives."""
        return self._by_value.get(key, [])

    def measured(self, value: str, unit: str) -> list[Place]:
        """The places of a quantity in any unit of its dimension: 90 min finds 1.5 h."""
        measure = base(value, unit)
        return self._by_unit.get(measure, []) if measure is not None else []

    def within(self, low: Fraction, high: Fraction) -> list[Place]:
        """The places of plain numbers in `[low, high]`, in order of size."""
        sizes, places = self._by_size
        first = bisect_right(sizes, low)
        while first > 0 and sizes[first - 1] >= low:
            first -= 1
        return places[first : bisect_right(sizes, high)]

    def measured_within(self, dimension: str, low: Fraction, high: Fraction) -> Iterator[Place]:
        """The places of quantities whose value in the base unit of a dimension lies in `[low, high]`."""
        for (of, value), places in self._by_unit.items():
            if of == dimension and low <= value <= high:
                yield from places

    @cached_property
    def _by_size(self) -> tuple[list[Fraction], list[Place]]:
        sized = [
            (number, place)
            for place in self.places
            if place.item.kind in ("number", "unit") and (number := exact(place.item.value)) is not None
        ]
        sized.sort(key=lambda pair: pair[0])
        return [number for number, _ in sized], [place for _, place in sized]

    @cached_property
    def has_next_days(self) -> bool:
        """True where a time of day stands with `+1`, as timetables write what happens on the next day."""
        return any(_NEXT_DAY.search(shown.text) is not None for shown in self.shown)

    @cached_property
    def closure(self) -> Closure:
        """What can be calculated from the evidence."""
        return Closure(self.places, self.branches)

    @cached_property
    def contradictions(self) -> Contradictions:
        """What the evidence says in place of a value that it doesn't have."""
        return Contradictions(self.places)

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """The words of each block, by the block's name, as names are compared."""
        return {shown.block.name: evidence_words(shown.text) for shown in self.shown}

    @cached_property
    def texts(self) -> list[tuple[Shown, str]]:
        """Each block's text in lower case, for literal search."""
        return [(shown, shown.text.lower()) for shown in self.shown]

    def _read(self, shown: Shown) -> None:
        text = shown.text
        if shown.cut or "characters cut]" in text:  # the mark of a cut is no evidence
            text = _CUT_MARK.sub(lambda found: " " * len(found.group()), text)
        leaves, branches = read_leaves(text)
        if branches:
            leaves = [further for leaf in leaves for further in _unpacked(leaf, branches)]
        self.branches.extend(branches)
        self.leaves.extend((leaf, shown) for leaf in leaves)
        found = [(leaf, _json_number(leaf), 0) for leaf in leaves if leaf.kind == "number"]
        found.extend(_read_texts([leaf for leaf in leaves if leaf.kind not in ("number", "word")], self.language))
        places: list[Place] = []
        for leaf, item, offset in found:
            start, end = leaf.at(item.start - offset), leaf.at(item.end - offset)
            unit, kind = item.unit, item.kind
            if unit is None and kind == "number" and leaf.branch is not None:
                unit, kind = _unit_of_key(leaf.key, leaf.branch.unit)
            evidence = Item(
                kind=kind,
                text=item.text,
                start=start,
                end=end,
                value=item.value,
                unit=unit,
                others=item.others,
                hedge=item.hedge,
                grain=item.grain,
                loose=item.loose,
                block=shown.block.name,
                path=leaf.path,
            )
            places.append(Place(item=evidence, leaf=leaf, shown=shown))
        places.sort(key=lambda place: place.item.start)
        self.places.extend(places)


def _read_texts(leaves: list[Leaf], language: str) -> Iterator[tuple[Leaf, Item, int]]:
    """Read many texts in one pass: each item with its leaf and the offset of the leaf's text in what was read."""
    starts: list[int] = []
    at = 0
    for leaf in leaves:
        starts.append(at)
        at += len(leaf.text) + len(_BETWEEN)
    for item in read_values(_BETWEEN.join(leaf.text for leaf in leaves), language=language):
        number = bisect_right(starts, item.start) - 1
        if item.end - starts[number] <= len(leaves[number].text):
            yield leaves[number], item, starts[number]


def _unpacked(leaf: Leaf, branches: list[Branch]) -> list[Leaf]:
    """A string that is itself JSON gives its own leaves."""
    if leaf.kind != "text" or len(leaf.text) < 2 or leaf.text.lstrip()[:1] not in ("{", "["):
        return [leaf]
    inner, further = read_leaves(leaf.text)
    if not further or further[0].size == 0 or inner[0].kind == "prose":
        return [leaf]
    branches.extend(further)
    for one in inner:
        one.origins = [leaf.at(one.at(index)) for index in range(len(one.text) + 1)]
        one.start, one.end, one.outer = one.origins[0], one.origins[-1], leaf
    return inner


def _json_number(leaf: Leaf) -> Item:
    """A JSON number as an item; one that is long beyond reason stays as it is written."""
    text = leaf.text
    number, _, exponent = text.lower().partition("e")
    value = text
    if len(exponent) <= 3 and len(text) <= LONGEST:
        whole, _, fraction = number.lstrip("-").partition(".")
        value = canonical(whole, fraction, negative=number.startswith("-"))
        if exponent:
            value = shift(value, int(exponent))
    return Item(kind="number", text=text, start=0, end=len(text), value=value)


@lru_cache(maxsize=4096)
def _unit_of_key(key: str, neighbour: str) -> tuple[str | None, ItemKind]:
    """The unit that a bare number gets from its key (`temp_c`, `price_usd`, `tax_percent`), else from its neighbours.

    Those are what stands beside it under `unit` or `currency`. What is priced `per_kwh` is no energy.
    """
    parts = split_key(key)
    own = parts[-1] if parts and "per" not in (part.lower() for part in parts) else ""
    for name in (own, neighbour):
        low = name.lower()
        if low in ("percent", "pct", "percentage", "%"):
            return "%", "number"
        if low in CURRENCIES and len(low) == 3:
            return CURRENCIES[low], "number"
        unit = key_unit(name)
        if unit is not None:
            return unit.symbol, "unit"
    return None, "number"


def _keys(item: Item) -> Iterator[str]:
    """What a value is found by. Dates are found by their parts too, identifiers by their digits alone."""
    match item.kind:
        case "number" | "unit":
            for value in item.values:
                yield value
                if value.startswith("-"):
                    yield value[1:]
        case "date":
            for value in item.values:
                yield from date_keys(value)
        case "identifier":
            for key in identifier_keys(item.value):
                yield f"id:{key}"
            if (counted := _COUNTED.fullmatch(item.text)) is not None:  # the 8 of "top-8"
                yield counted.group(1)
        case _:
            yield f"{item.kind}:{item.value}"


def date_keys(value: str) -> Iterator[str]:
    """The keys of a date: whole, without its year, its month and year, its year; and of its time of day."""
    parts = _DATE.match(value)
    if parts is None:
        return
    day, time, zone = parts.group("day", "time", "zone")
    if day:
        yield f"date:{day}"
        pieces = day.rsplit("-", 2) if day.count("-") >= 2 else day.split("-")
        if len(pieces) == 3:
            yield f"date:--{pieces[1]}-{pieces[2]}"
            if pieces[0] != "-":
                yield f"date:{pieces[0]}-{pieces[1]}"
        if pieces[0] not in ("-", ""):
            yield f"year:{pieces[0]}"
    if time:
        yield f"time:{time}"
        yield f"time:{time[:6]}"
        if day and zone:
            yield f"instant:{_instant(day, time, zone)}"


def _instant(day: str, time: str, zone: str) -> str:
    """A moment in UTC, so that the same moment in two zones is one."""
    moment = datetime.fromisoformat(f"{day}{time}{'+00:00' if zone == 'Z' else zone}")
    try:
        return moment.astimezone(UTC).isoformat()
    except OverflowError:
        return moment.isoformat()
