"""Values where they belong: under a member that the claim speaks of, in the record that it names, in a total."""

import itertools
import re
from collections.abc import Sequence
from fractions import Fraction

from groundwire.scorer.claims import Check
from groundwire.scorer.judges.leaves import Leaf
from groundwire.scorer.judges.windows import words

__all__ = ["member_of", "misnamed", "misplaced", "named", "total_of"]

_TOTAL = re.compile(
    r"(?i)\b(?:totals?|sum|altogether|overall|combined|insgesamt|gesamt\w*|summe|en total|"
    r"total\w*|suma|somme)\b|总|合计|共"
)
_MOST_ADDED = 12
"""Amounts under one name of which subsets are added."""
_LEAST_ADDED = 4
"""Sums of fewer are found by the checks themselves."""


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def member_of(check: Check, claim: str, leaves: Sequence[Leaf]) -> Leaf | None:
    """The member with a number's value whose name shares a word with the claim: "3 bags" is `bags: 3`."""
    value = _number(check.value or "")
    if value is None:
        return None
    said = frozenset(words(claim))
    return next((leaf for leaf in leaves if _alike(leaf, said) and _number(leaf.text) == value), None)


def _alike(leaf: Leaf, said: frozenset[str]) -> bool:
    return any(
        key == word or (len(key) > 4 and word.startswith(key[:4])) or (len(word) > 2 and key.startswith(word))
        for key in leaf.key_words
        for word in said
    )


def misplaced(checks: Sequence[Check], leaves: Sequence[Leaf]) -> tuple[Check, Leaf] | None:
    """A value that the evidence has only in other records than the one the claim names, and that record's own member.

    Only where the claim names exactly one record by its code, and that record has the same member with another value.
    """
    codes = {(check.value or "").casefold().strip("#") for check in checks if check.check == "identifier"}
    if len(codes) != 1:
        return None
    code = next(iter(codes))
    own = [leaf for leaf in leaves if code in {other.strip("#") for other in leaf.codes}]
    if not own:
        return None
    for check in checks:
        if (
            check.check not in {"number", "date", "unit"}
            or check.outcome != "found"
            or not check.path
            or not check.quote
        ):
            continue
        holding = [leaf for leaf in leaves if leaf.text == check.quote]
        if not holding or any(code in {other.strip("#") for other in leaf.codes} for leaf in holding):
            continue
        keys = {leaf.key for leaf in holding}
        rival = next((leaf for leaf in own if leaf.key in keys and len(keys) == 1), None)
        if rival is not None:
            return check, rival
    return None


def named(checks: Sequence[Check], claim: str, leaves: Sequence[Leaf]) -> Leaf | None:
    """The member whose value is a name that was found, and of whose name the claim speaks: `carrier` in "X carries it".

    Only where every name of the claim was found.
    """
    names = [check for check in checks if check.check == "name"]
    if any(check.outcome != "found" for check in names):
        return None
    said = frozenset(words(claim))
    values = {check.text.casefold() for check in names}
    return next(
        (leaf for leaf in leaves if leaf.is_string and leaf.text.casefold() in values and _alike(leaf, said)), None
    )


_NAMES = frozenset({"name", "title", "label", "display_name", "full_name"})
"""Members that say what their record is called."""


def misnamed(checks: Sequence[Check], claim: str, leaves: Sequence[Leaf]) -> tuple[Check, Leaf] | None:
    """A name that is nowhere, given to a record that is called otherwise; and that record's own name.

    Only where every value that was found stands in that one record, and nothing of its own name in the claim.
    """
    absent = next(
        (one for one in checks if one.check == "name" and one.outcome == "not_found" and " " in one.text), None
    )
    held = [one for one in checks if one.outcome == "found" and one.check in {"number", "unit", "date"} and one.path]
    records = {(one.block, (one.path or "").rpartition(".")[0]) for one in held}
    if absent is None or len(records) != 1:
        return None
    block, record = records.pop()
    own = next(
        (
            leaf
            for leaf in leaves
            if leaf.shown.block.name == block
            and leaf.key.lower() in _NAMES
            and (leaf.path or "").rpartition(".")[0] == record
        ),
        None,
    )
    if own is None or "[" not in record or set(words(own.text)) & set(words(claim)):
        return None
    return absent, own


def total_of(check: Check, claim: str, leaves: Sequence[Leaf]) -> tuple[Leaf, ...] | None:
    """Four or more amounts under one member name whose sum a figure is that the claim calls a total."""
    value = _number(check.value or "")
    if value is None or check.check != "number" or not _TOTAL.search(claim):
        return None
    groups: dict[str, dict[Fraction, Leaf]] = {}
    for leaf in leaves:
        amount = None if leaf.is_string else _number(leaf.text)
        if amount is not None and amount > 0:
            groups.setdefault(leaf.key, {}).setdefault(amount, leaf)
    for group in groups.values():
        if not _LEAST_ADDED <= len(group) <= _MOST_ADDED:
            continue
        for count in range(_LEAST_ADDED, len(group) + 1):
            for chosen in itertools.combinations(group, count):
                if sum(chosen) == value:
                    return tuple(group[amount] for amount in chosen)
    return None
