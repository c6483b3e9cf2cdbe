"""Contradiction: the evidence gives another value for the very thing a claim gives a value for."""

import math
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from .items import Item
from .names import name_words
from .places import Place, split_key
from .units import key_unit, same_dimension
from .vocabulary import words

__all__ = ["Contradictions", "comparable"]

NEAREST = 8
"""Most words between a value and the words that say what it is a value of."""
COVERED = 0.6
"""Least share of a claim's content words that a sentence of the evidence must have to speak of the same thing."""
LONE_WORD = 5
"""Least letters of a word that alone says what a value is a value of ("population")."""
MOST_PLACES = 4_000
"""Most places in prose whose sentences are known."""
MOST_COMPARED = 200
"""Most places that one word leads to."""

_TOKEN = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"[.!?;。！？](?=\s|$)|\n")
_STOP = words(
    "the and for with that this from are was were has have had its his her their your our you she they "
    "not but can will "
    "there which who what when been about over more than into per all any one two out only also der die "
    "das und ist ein "
    "eine les des est une los las del una con por per che dal nel van het een voor"
)
_MEASURES = words("percent pct percentage usd eur gbp")
_AGGREGATES = words(
    "total totals sum difference combined altogether overall average mean together remaining previously "
    "insgesamt gesamt "
    "summe differenz durchschnitt somme difference moyenne suma diferencia promedio somma differenza media totaal"
)
_GENERIC = words("value values amount number data result date time at on id count")


def comparable(item: Item, other: Item) -> bool:
    """True where two items are values of the same kind: two dates, two prices, two lengths, two plain numbers."""
    if item.kind == "unit" or other.kind == "unit":
        return item.kind == other.kind and same_dimension(item.unit or "", other.unit or "")
    if item.kind != other.kind:
        return False
    if item.kind == "date":
        return ("T" in item.value) == ("T" in other.value) and item.value.count("-") == other.value.count("-")
    return item.unit == other.unit or ("%" not in (item.unit, other.unit) and None in (item.unit, other.unit))


class Contradictions:
    """The places of the evidence, by what they are values of."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._sentences: dict[int, frozenset[str]] = {}

    def find(self, item: Item, text: str, others: Iterable[Item]) -> Place | None:
        """The place that gives another value for what an item of a claim's text is a value of, or None.

        `others` are the claim's further items: what the claim says too is no contradiction.
        """
        if item.kind not in ("number", "unit", "date"):
            return None
        start, end = _bounds(text, item.start, item.end)
        sentence = text[start:end]
        if any(word in _AGGREGATES for word in name_words(sentence)):
            return None  # a total is another value than what it is a total of
        said = {value for other in others for value in other.values}
        spoken = [
            (found.start() + start, word) for found in _TOKEN.finditer(sentence) for word in name_words(found.group())
        ]
        at = sum(1 for position, _ in spoken if position < item.start)
        place = self._in_data(item, [word for _, word in spoken], at, said)
        return place or self._in_prose(item, sentence[: item.start - start] + " " + sentence[item.end - start :], said)

    def _in_data(self, item: Item, spoken: list[str], at: int, said: set[str]) -> Place | None:
        best: tuple[int, Place] | None = None
        for key, places in self._by_key.items():
            distance = _distance(key, spoken, at)
            if distance is None or (best is not None and distance >= best[0]):
                continue
            rivals = [place for place in places if comparable(item, place.item)]
            place = _only(rivals, set(spoken))
            if place is not None and place.item.value not in said:
                best = (distance, place)
        return best[1] if best is not None else None

    def _in_prose(self, item: Item, rest: str, said: set[str]) -> Place | None:
        claim = _content(rest)
        if not claim or (len(claim) == 1 and len(min(claim)) < LONE_WORD):
            return None
        need = math.ceil(max(min(2, len(claim)), COVERED * len(claim)))
        postings = sorted((self._by_word.get(word, []) for word in claim), key=len)
        if len(postings) < need:
            return None
        # Who has `need` of the words has at least one of the rarest that are left when the others are all there.
        nearest = {number for posting in postings[: len(postings) - need + 1] for number in posting[:MOST_COMPARED]}
        found = [self._places[number] for number in sorted(nearest) if len(self._around(number) & claim) >= need]
        rivals = [place for place in found if comparable(item, place.item) and place.item.value not in said]
        values = {place.item.value for place in rivals}
        return rivals[0] if len(values) == 1 else None

    @cached_property
    def _by_key(self) -> dict[tuple[str, ...], list[Place]]:
        keys: dict[tuple[str, ...], list[Place]] = {}
        for place in self._places:
            leaf = place.leaf
            if leaf.kind not in ("number", "text") or (
                leaf.kind == "text" and len(leaf.text) > 2 * len(place.item.text)
            ):
                continue
            words = _key_words(leaf.key)
            if not words and leaf.branch is not None:
                words = _key_words(leaf.branch.key)
            if words:
                keys.setdefault(words, []).append(place)
        return keys

    @cached_property
    def _by_word(self) -> dict[str, list[int]]:
        words: dict[str, list[int]] = {}
        prose = [number for number, place in enumerate(self._places) if place.leaf.kind in ("prose", "text")]
        for number in prose[:MOST_PLACES]:
            for word in self._around(number):
                words.setdefault(word, []).append(number)
        return words

    def _around(self, number: int) -> frozenset[str]:
        """The content words of the sentence in which a place stands."""
        if number not in self._sentences:
            place = self._places[number]
            self._sentences[number] = _content(_sentence(place.shown.text, place.item.start, place.item.end))
        return self._sentences[number]


def _key_words(key: str) -> tuple[str, ...]:
    """The words of a key that say what its value is, without those that say in what unit."""
    parts = [word for part in split_key(key) for word in name_words(part)]
    return tuple(
        word
        for position, word in enumerate(parts)
        if word not in _GENERIC
        and len(word) > 2
        and not word.isdigit()
        and not (position > 0 and (key_unit(word) is not None or word in _MEASURES))
    )


def _alike(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter = min(len(one), len(other))
    if shorter < 4:
        return False
    common = next((index for index in range(shorter) if one[index] != other[index]), shorter)
    return common >= 4 and common >= 0.7 * shorter


def _distance(key: tuple[str, ...], spoken: list[str], at: int) -> int | None:
    """How many words stand between a value and the words of a key; None where the claim doesn't say them nearby."""
    farthest = 0
    for word in key:
        distances = [abs(index - at) for index, said in enumerate(spoken) if _alike(word, said)]
        if not distances or min(distances) > NEAREST:
            return None
        farthest = max(farthest, min(distances))
    return farthest


def _only(places: list[Place], spoken: set[str]) -> Place | None:
    """The one value among places; of several objects, that of the one object that the claim names."""
    if not places:
        return None
    if len({place.item.value for place in places}) == 1:
        return places[0]
    scored: dict[str, tuple[int, Place]] = {}
    for place in places[:MOST_PLACES]:
        branch = place.leaf.branch
        score = len(branch.words & spoken) if branch is not None else 0
        if score > scored.get(place.item.value, (0, place))[0]:
            scored[place.item.value] = (score, place)
    ranked = sorted(scored.values(), key=lambda pair: -pair[0])
    if ranked and (len(ranked) == 1 or ranked[0][0] > ranked[1][0]):
        return ranked[0][1]
    return None


def _sentence(text: str, start: int, end: int) -> str:
    """The sentence around a span, without the span."""
    low, high = _bounds(text, start, end)
    return text[low:start] + " " + text[end:high]


def _bounds(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence around a span begins and ends, at most 160 characters to each side."""
    low, high = max(0, start - 160), min(len(text), end + 160)
    cuts = [found.end() for found in _SENTENCE_END.finditer(text, low, start)]
    after = _SENTENCE_END.search(text, end, high)
    return (cuts[-1] if cuts else low), (after.start() if after is not None else high)


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in name_words(text) if len(word) > 2 and word not in _STOP and not word[0].isdigit())
