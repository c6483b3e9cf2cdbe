"""An item: one checkable detail of a text (a number, a date, a code …) in its normal form, and where it stands."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Hedge", "Item", "ItemKind"]

ItemKind = Literal["number", "date", "unit", "identifier", "email", "url", "quotation", "name"]
Hedge = Literal["around", "below", "above"]
"""How a text announces that it rounds: `around` ("about 5"), `below` ("nearly 5"), `above` ("more than 5")."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One checkable detail of a text."""

    kind: ItemKind
    text: str
    """As it is written: of a text that was read, `text == read[start:end]`."""
    start: int
    """Offset of its first character in the text it was read from (of evidence: in `Shown.text`), in code points."""
    end: int
    value: str
    """Its normal form: `1234.5`, `2024-05-03`, `T14:30`, `w1234567`, `https://example.com/a`."""
    unit: str | None = None
    """Of a number `%` or a currency code; of a unit item the unit's symbol (`km`, `min`, `°C`)."""
    others: tuple[str, ...] = ()
    """Further values that the same characters can mean: `1.234` is also `1234`, `03/04/2024` is two dates."""
    hedge: Hedge | None = None
    """Set where the text itself announces that it rounds."""
    grain: str | None = None
    """Of a hedged number: the unit of its last written digit (`100` of `about 1,200`)."""
    loose: bool = False
    """True where the same characters often say nothing that evidence would hold ("one", "two", a lone capitalised
    word): such an item is reported where evidence has it and never as missing."""
    block: str = ""
    """Of an evidence item: the block that holds it."""
    path: str | None = None
    """Of an evidence item: its JSON path (`$.flights[2].price`), where the block is data."""

    @property
    def values(self) -> tuple[str, ...]:
        """Every value that the characters can mean, the likeliest first."""
        return (self.value, *self.others)
