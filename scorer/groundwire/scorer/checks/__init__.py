"""Code checks: what an answer states in numbers, dates, codes and words, looked up in its evidence; free and exact."""

from .findings import run_checks
from .index import EvidenceIndex
from .items import Hedge, Item, ItemKind
from .places import Place
from .reading import read_items, read_values

__all__ = ["EvidenceIndex", "Hedge", "Item", "ItemKind", "Place", "read_items", "read_values", "run_checks"]
