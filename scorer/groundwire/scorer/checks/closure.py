"""Arithmetic closure: a total, difference or multiple of amounts in the evidence, and a count of its items."""

from collections.abc import Sequence
from dataclasses import dataclass

from .data import Branch
from .items import Item
from .numerals import exact
from .places import Place

__all__ = ["Closure", "Derivation"]

MOST_AMOUNTS = 2_000
"""Most different amounts of which two are combined."""
MOST_IN_THREES = 120
"""Most different amounts of which three are combined; with more, chance alone would derive any figure."""
MOST_NUMBERS = 12
"""Most different plain numbers that are combined, for the same reason."""
LARGEST_COUNT = 20
"""Largest count that an amount is multiplied by."""
_SCALE = 10_000
"""Amounts are calculated with in ten-thousandths, as whole numbers."""


class Closure:
    """What can be calculated from one body of evidence; sums are prepared at the first question."""

    def __init__(self, places: Sequence[Place], branches: Sequence[Branch]) -> None:
        money: dict[int, Place] = {}
        plain: dict[int, Place] = {}
        for place in places:
            amount = _scaled(place.item.value) if place.item.kind == "number" else None
            if amount:
                plain.setdefault(amount, place)
                if len(money) < MOST_AMOUNTS and place.is_money:
                    money.setdefault(amount, place)
        self._counts = {branch.size for branch in branches}
        for branch in branches:
            self._counts.update(branch.tallies.values())
        totals = dict(_totals(places))
        self._money = _Amounts(totals | money, totals=totals)
        self._plain = _Amounts(plain, totals={}) if len(plain) <= MOST_NUMBERS else None

    def derive(self, item: Item) -> "Derivation | None":
        """How a number follows from the evidence; None where it doesn't. Percentages and quantities never do."""
        if item.kind != "number" or item.unit == "%":
            return None
        amount = _scaled(item.value)  # the likeliest reading alone: "640,000" is no five times 128
        if amount is None:
            return None
        if item.unit is None and amount % _SCALE == 0 and amount // _SCALE in self._counts:
            return Derivation(places=())
        for amounts in (self._money, self._plain):
            places = amounts.combine(amount) if amounts is not None else None
            if places is not None and _one_currency(item, places):
                return Derivation(places=places)
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Derivation:
    """The amounts that a figure was calculated from; none for a count."""

    places: tuple[Place, ...]


class _Amounts:
    """Different amounts, scaled to whole numbers, and the sums of every two of them."""

    def __init__(self, amounts: dict[int, Place], *, totals: dict[int, Place]) -> None:
        self._amounts = amounts
        self._totals = totals
        self._pairs: dict[int, int] | None = None

    def combine(self, number: int) -> tuple[Place, ...] | None:
        """The amounts whose sum, difference or small multiple a number is."""
        amounts = self._amounts
        if number in self._totals:
            return (self._totals[number],)
        for one, place in amounts.items():
            for other in (number - one, number + one):
                if other in amounts:
                    return (place, amounts[other])
        for count in range(2, LARGEST_COUNT + 1):
            if number % count == 0 and number // count in amounts:
                return (amounts[number // count],)
        if self._pairs is None:
            values = list(amounts)[:MOST_IN_THREES]
            self._pairs = {one + other: one for index, one in enumerate(values) for other in values[index:]}
        for one, place in amounts.items():
            low = self._pairs.get(number - one)
            if low is not None:
                return (place, amounts[low], amounts[number - one - low])
        return None


def _one_currency(item: Item, places: Sequence[Place]) -> bool:
    """True where no two of the figure and its amounts are in different currencies; a bare number is in any."""
    return len({one.unit for one in (item, *(place.item for place in places))} - {None}) <= 1


def _scaled(value: str) -> int | None:
    """The size of a number in ten-thousandths; None where it has more decimals or is no number."""
    number = exact(value.lstrip("-"))
    scaled = number * _SCALE if number is not None else None
    return scaled.numerator if scaled is not None and scaled.denominator == 1 else None


def _totals(places: Sequence[Place]) -> list[tuple[int, Place]]:
    """The totals of one key over the objects of a list (every `price` of an order's items)."""
    totals: dict[tuple[int, str], list[tuple[int, Place]]] = {}
    for place in places:
        branch = place.leaf.branch
        if branch is None or place.leaf.kind != "number" or not place.is_money:
            continue
        amount = _scaled(place.item.value)
        owner = branch if branch.is_list else branch.parent
        if amount is not None and owner is not None:
            totals.setdefault((id(owner), place.leaf.key), []).append((amount, place))
    return [(sum(amount for amount, _ in group), group[0][1]) for group in totals.values() if len(group) > 1]
