"""Which words of a statement are wrong: the figure, the name or the clause rather than all that was said."""

import re
from collections.abc import Iterator, Sequence

from groundwire.scorer.claims import Claim
from groundwire.scorer.judges.bench import Bench
from groundwire.scorer.judges.features import align
from groundwire.scorer.judges.windows import content_words, negated

__all__ = ["stretches", "turned_round", "unknown_names"]

_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*", re.UNICODE)
_BRIDGE = 2
"""Words of the evidence, or plain ones, that may stand between two that it lacks without parting them."""
_SPECIFIC = frozenset({"number", "date", "unit", "identifier", "email", "url", "quotation", "citation"})
_LEAST_RUN = 2
"""Missing words that make a stretch where no figure or code does."""
_SAME_WORDS = 0.8
"""Share of a claim's content words that the evidence must have together for a negation alone to be the difference."""
_NOT = re.compile(
    r"(?i)\b(?:(?:is|are|was|were|has|have|had|do|does|did|can|could|will|would)(?: not\b|n['’]t\b)|not\b|never\b)"
)
_DEEDS = frozenset({"false_success"})


def stretches(claim: Claim, bench: Bench) -> tuple[tuple[int, int], ...]:
    """Where in a hallucinated claim's text its wrong words stand, as `[start, end)`, disjoint and in order.

    A figure, date or code that the evidence contradicts or lacks, with the words around it that the evidence lacks
    too; else the runs of words that it lacks; else, and of a deed that nobody did, the whole claim.
    """
    whole = ((0, len(claim.text)),)
    if claim.type in _DEEDS:
        return whole
    tokens = [(found.start(), found.end()) for found in _WORD.finditer(claim.text)]
    missing = [_is_missing(claim.text[start:end], bench) for start, end in tokens]
    wrong = [check for check in claim.checks if check.outcome == "contradicted"] or [
        check for check in claim.checks if check.outcome == "not_found" and check.check in _SPECIFIC
    ]
    runs = list(_runs(missing))
    if wrong:
        found = [_widened(check.start, check.end, tokens, missing, runs) for check in wrong]
    else:
        found = [
            (tokens[first][0], tokens[last][1]) for first, last in runs if sum(missing[first : last + 1]) >= _LEAST_RUN
        ]
    return tuple(_merged(found)) or whole


def unknown_names(claim: Claim, bench: Bench) -> tuple[tuple[int, int], ...]:
    """Where names of two words or more stand of which the evidence has no word."""
    return tuple(
        (check.start, check.end)
        for check in claim.checks
        if check.check == "name"
        and check.outcome == "not_found"
        and len(named := _WORD.findall(check.text)) > 1
        and all(_is_missing(word, bench) for word in named)
    )


def turned_round(claim: Claim, bench: Bench) -> tuple[tuple[int, int], ...]:
    """Where a claim negates what the evidence says in nearly the same words without a negation."""
    found = None if not negated(claim.text) else align(claim.text, bench.windows, claim.checks)
    if found is None or found.best is None or found.best.data or found.coverage < _SAME_WORDS:
        return ()
    if negated(found.nearest):
        return ()
    place = _NOT.search(claim.text)
    return ((place.start(), place.end()),) if place else ()


def _is_missing(word: str, bench: Bench) -> bool:
    own = content_words(word)
    return bool(own) and not any(one in bench.windows.vocabulary for one in own)


def _runs(missing: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Stretches of tokens that are missing, bridged where few others stand between, as first and last index."""
    first = last = None
    for index, is_missing in enumerate(missing):
        if not is_missing:
            continue
        if first is None or last is None:
            first = index
        elif index - last > _BRIDGE + 1:
            yield first, last
            first = index
        last = index
    if first is not None and last is not None:
        yield first, last


def _widened(
    start: int,
    end: int,
    tokens: Sequence[tuple[int, int]],
    missing: Sequence[bool],
    runs: Sequence[tuple[int, int]],
) -> tuple[int, int]:
    """An item with the run of missing words that it stands in; one word beside it may be another way to say it."""
    for first, last in runs:
        begin, stop = tokens[first][0], tokens[last][1]
        beside = [
            at for at in range(first, last + 1) if missing[at] and (tokens[at][1] <= start or tokens[at][0] >= end)
        ]
        if begin < end and stop > start and len(beside) >= _LEAST_RUN:
            return min(start, begin), max(end, stop)
    return start, end


def _merged(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
