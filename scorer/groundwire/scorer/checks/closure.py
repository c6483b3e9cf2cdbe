"""Arithmetic closure: a total, difference or multiple of amounts in the evidence, or a count of its items, is derived."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .data import Branch
from .items import Item
from .numerals import exact
from .places import Place

__all__ = ["Closure", "Derivation"]

MOST_AMOUNTS = 120
"""Most different amounts that are combined; with more, chance alone would derive any figure."""
MOST_NUMBERS = 12
"""Most different plain numbers that are combined, for the same reason."""
LARGEST_COUNT = 20
"""Largest count that an amount is multiplied by."""


class Closure:
    """What can be calculated from one body of evidence; everything is prepared at the first question."""

    def __init__(self, places: Sequence[Place], branches: Sequence[Branch]) -> None:
        money: dict[Fraction, Place] = {}
        plain: dict[Fraction, Place] = {}
        for place in places:
            number = exact(place.item.value) if place.item.kind == "number" else None
            if number is not None and number:
                plain.setdefault(abs(number), place)
                if place.is_money:
                    money.setdefault(abs(number), place)
        self._counts = {branch.size for branch in branches}
        for branch in branches:
            self._counts.update(branch.tallies.values())
        self._money = _Amounts(dict(list(money.items())[:MOST_AMOUNTS]), totals=_totals(places))
        self._plain = _Amounts(plain, totals=()) if len(plain) <= MOST_NUMBERS else None

    def derive(self, item: Item) -> "Derivation | None":
        """How an item's value follows from the evidence; None where it doesn't."""
        for value in item.values:
            number = exact(value)
            if number is None or item.kind != "number" or item.unit == "%":
                continue
            number = abs(number)
            if item.unit is None and number.denominator == 1 and int(number) in self._counts:
                return Derivation(places=())
            for amounts in (self._money, self._plain):
                if amounts is not None and (places := amounts.combine(number)) is not None:
                    return Derivation(places=places)
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Derivation:
    """The amounts that a figure was calculated from; none for a count."""

    places: tuple[Place, ...]


class _Amounts:
    """Different amounts, and the sums of every two of them."""

    def __init__(self, amounts: dict[Fraction, Place], *, totals: Iterable[tuple[Fraction, Place]]) -> None:
        self._amounts = dict(amounts)
        for total, place in totals:
            self._amounts.setdefault(total, place)
        self._pairs: dict[Fraction, Fraction] | None = None

    def combine(self, number: Fraction) -> tuple[Place, ...] | None:
        """The amounts whose sum, difference or small multiple a number is."""
        amounts = self._amounts
        if number in amounts:
            return (amounts[number],)
        for one, place in amounts.items():
            for other in (number - one, number + one):
                if other in amounts:
                    return (place, amounts[other])
        for count in range(2, LARGEST_COUNT + 1):
            if number / count in amounts:
                return (amounts[number / count],)
        pairs = self._sums()
        for one, place in amounts.items():
            low = pairs.get(number - one)
            if low is not None:
                return (place, amounts[low], amounts[number - one - low])
        return None

    def _sums(self) -> dict[Fraction, Fraction]:
        if self._pairs is None:
            values = list(self._amounts)
            self._pairs = {one + other: one for index, one in enumerate(values) for other in values[index:]}
        return self._pairs


def _totals(places: Sequence[Place]) -> list[tuple[Fraction, Place]]:
    """The total of one key over the objects of a list (every `price` of an order's items)."""
    totals: dict[tuple[int, str], list[tuple[Fraction, Place]]] = {}
    for place in places:
        branch = place.leaf.branch
        if branch is None or place.leaf.kind != "number" or not place.is_money:
            continue
        number = exact(place.item.value)
        owner = branch if branch.is_list else branch.parent
        if number is not None and owner is not None:
            totals.setdefault((id(owner), place.leaf.key), []).append((number, place))
    return [
        (sum((number for number, _ in group), Fraction(0)), group[0][1]) for group in totals.values() if len(group) > 1
    ]
