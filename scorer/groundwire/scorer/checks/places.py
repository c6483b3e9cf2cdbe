"""Places: where a value stands in the evidence, and what stands around it."""

import re
from dataclasses import dataclass

from groundwire.scorer.evidence import Shown

from .data import Leaf
from .items import Item

__all__ = ["Place", "split_key"]

_KEY_PARTS = re.compile(r"[A-Z]?[a-zß-ÿ]+|[A-Z]+(?![a-z])|[^\W\d_]+|\d+")
_MONEY_KEY = re.compile(
    r"price|cost|amount|total|fee|balance|payment|charge|refund|fare|tax|paid|due|discount|salary|budget|revenue|value",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One value of the evidence with what stands around it."""

    item: Item
    leaf: Leaf
    """The JSON leaf or the prose that holds it."""
    shown: Shown

    @property
    def is_money(self) -> bool:
        """True for an amount: a currency, two decimals, or a key above it that names one."""
        item = self.item
        if item.kind != "number" or item.unit == "%":
            return False
        keys = (self.leaf.key, self.leaf.branch.key) if self.leaf.branch is not None else ()
        return (
            item.unit is not None
            or (self.leaf.kind == "number" and any(_MONEY_KEY.search(key) is not None for key in keys))
            or re.search(r"\.\d\d$", item.text) is not None
        )


def split_key(key: str) -> list[str]:
    """The words of a JSON key: `departureTime_utc` is departure, Time, utc."""
    return _KEY_PARTS.findall(key)
