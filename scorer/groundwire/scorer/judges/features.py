"""What is measured about one claim against the evidence: the numbers that the rules and the fitted combination look at."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from groundwire.scorer.claims import Check
from groundwire.scorer.judges.windows import Window, Windows, content_words, words

__all__ = ["FEATURES", "Alignment", "align", "negated", "vector"]

FEATURES = (
    "coverage",
    "best_coverage",
    "weighted",
    "best_weighted",
    "bigrams",
    "best_bigrams",
    "run",
    "characters",
    "token_set",
    "names_missing",
    "any_name_missing",
    "rarest_missing",
    "missing_count",
    "numbers_missing",
    "any_number",
    "contradicted",
    "negation",
    "antonym",
    "length",
    "evidence_length",
    "single_window",
    "superlative",
    "speaker",
)
"""Names of the numbers in `vector`, in its order."""

_NEGATION = re.compile(
    r"(?i)\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|can['’]?t|\w+n['’]t|n't|unable|fail(?:s|ed)?|lacks?|denied|refused|unavailable|"
    r"non-?\w+|nicht|kein\w*|nie|niemals|ohne|no|nunca|ningun\w*|ningún|sin|tampoco|ne|pas|jamais|aucune?|sans)\b|不|没|沒|無|无|未|非"
)
_SUPERLATIVE = re.compile(
    r"(?i)\b(?:first|last|only|all|every|always|never|most|least|best|worst|oldest|youngest|largest|smallest|highest|lowest|none|any|exclusively|entirely)\b"
)
_SPEAKER = re.compile(r"(?i)\b(?:i|i'm|i've|my|me|we|our|us)\b")
_OPPOSITES = (
    "increase|rise|rose|grow|grew|gain decrease|fall|fell|drop|decline|shrink|lose|lost",
    "high|higher|above|over low|lower|below|under",
    "more less|fewer",
    "before|prior|earlier after|later|following",
    "first last|second|third",
    "open|opened close|closed|shut",
    "win|won lose|lost",
    "male|man|boy|he|father|son|brother|husband female|woman|girl|she|mother|daughter|sister|wife",
    "north south",
    "east west",
    "northern southern",
    "eastern western",
    "old|older|oldest young|younger|youngest|new|newer",
    "alive|living dead|died|deceased",
    "start|began|begin|begun end|ended|finish|stop",
    "accept|accepted|approve|approved reject|rejected|deny|denied|refuse|refused",
    "allow|allowed|permit|permitted|legal forbid|forbidden|ban|banned|prohibit|prohibited|illegal",
    "true false",
    "enabled disabled",
    "active inactive",
    "available unavailable|out",
    "refundable nonrefundable|non-refundable",
    "include|included|including exclude|excluded|excluding",
    "buy|bought sell|sold",
    "arrive|arrival depart|departure",
    "maximum|max minimum|min",
    "large|larger|largest|big|bigger small|smaller|smallest|little",
    "positive negative",
    "major minor",
    "public private",
    "same different",
    "always never",
    "all none",
    "many few",
    "hot cold",
    "fast|faster slow|slower",
    "strong weak",
    "import export",
    "married divorced|single",
    "guilty innocent|acquitted",
    "safe dangerous|unsafe",
    "right left|wrong",
    "success|succeed|succeeded fail|failed|failure",
)


def _opposites() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in _OPPOSITES:
        left, right = (side.split("|") for side in line.split())
        for mine, theirs in ((left, right), (right, left)):
            for word in mine:
                table.setdefault(words(word)[0], set()).update(stem for other in theirs for stem in words(other)[:1])
    return {word: frozenset(others) for word, others in table.items()}


OPPOSITES = _opposites()


@dataclass(frozen=True)
class Alignment:
    """A claim beside the window that covers it best."""

    claim: str
    best: Window | None
    windows: Windows
    checks: tuple[Check, ...] = ()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The claim's words in order."""
        return tuple(words(self.claim))

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The claim's different content words, in order of appearance."""
        return tuple(dict.fromkeys(content_words(self.claim)))

    @cached_property
    def coverage(self) -> float:
        """Share of the content words that the best window holds, in [0, 1]; 0 where there are none."""
        return _share(self.content, self.best.bag if self.best else frozenset())

    @cached_property
    def coverage_anywhere(self) -> float:
        """Share of the content words that any usable window holds, in [0, 1]."""
        return _share(self.content, self.windows.vocabulary)

    @cached_property
    def nearest(self) -> str:
        """The line or sentence of the best window that shares most content words with the claim, verbatim."""
        if self.best is None:
            return ""
        parts = re.split(r"(?<=[.!?。！？])\s+|\n", self.best.text)
        content = frozenset(self.content)
        return max(parts, key=lambda part: len(content.intersection(words(part))), default="")


def align(claim: str, windows: Windows, checks: Sequence[Check] = ()) -> Alignment:
    """Find the window that covers the claim best, among those that BM25 ranks highest."""
    content = list(dict.fromkeys(content_words(claim)))
    candidates = windows.best(content)
    best = max(candidates, key=lambda window: (_weighted(content, window.bag), -len(window.bag)), default=None)
    return Alignment(claim, best, windows, tuple(checks))


def negated(text: str) -> bool:
    """Whether a negation stands in the text."""
    return bool(_NEGATION.search(text))


def vector(alignment: Alignment) -> tuple[float, ...]:
    """The features of `FEATURES` in that order, each in [0, 1] but for the two lengths (natural logarithms / 10)."""
    from rapidfuzz import fuzz

    best = alignment.best
    bag = best.bag if best else frozenset[str]()
    vocabulary = alignment.windows.vocabulary
    content = alignment.content
    names = _names(alignment.claim)
    numbers = [check for check in alignment.checks if check.check in {"number", "date", "unit", "identifier"}]
    missing = [word for word in content if word not in vocabulary]
    near = alignment.nearest
    return (
        alignment.coverage_anywhere,
        alignment.coverage,
        _weighted(content, vocabulary),
        _weighted(content, bag),
        _pairs(alignment.words, [window.words for window in alignment.windows.usable]),
        _pairs(alignment.words, [best.words] if best else []),
        _run(alignment.words, best.words if best else ()),
        _characters(alignment.claim, best.text if best else ""),
        fuzz.token_set_ratio(" ".join(alignment.words), " ".join(best.words)) / 100 if best else 0.0,
        1 - _share(names, vocabulary) if names else 0.0,
        float(any(name not in vocabulary for name in names)),
        max((min(len(word), 10) / 10 for word in missing), default=0.0),
        min(len(missing), 8) / 8,
        sum(check.outcome in {"not_found", "contradicted"} for check in numbers) / len(numbers) if numbers else 0.0,
        float(bool(numbers)),
        float(any(check.outcome == "contradicted" for check in alignment.checks)),
        float(negated(alignment.claim) != negated(near)),
        float(_opposed(content, frozenset(words(near)))),
        _log(len(alignment.words)),
        _log(sum(len(window.words) for window in alignment.windows.usable)),
        float(len(alignment.windows.usable) <= 1),
        float(bool(_SUPERLATIVE.search(alignment.claim))),
        float(bool(_SPEAKER.search(alignment.claim))),
    )


def _share(some: Sequence[str], of: frozenset[str]) -> float:
    return sum(word in of for word in some) / len(some) if some else 0.0


def _weighted(content: Sequence[str], bag: frozenset[str]) -> float:
    """Coverage in which long words and figures weigh more: they are rarer."""
    weights = {word: 2.0 if any(map(str.isdigit, word)) else min(len(word), 10) / 5 for word in content}
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in bag) / total if total else 0.0


def _pairs(claim: Sequence[str], texts: Sequence[Sequence[str]]) -> float:
    pairs = set(zip(claim, claim[1:], strict=False))
    if not pairs:
        return 0.0
    found: set[tuple[str, str]] = set()
    for text in texts:
        found.update(pairs.intersection(zip(text, text[1:], strict=False)))
    return len(found) / len(pairs)


def _run(claim: Sequence[str], text: Sequence[str]) -> float:
    """The longest common run of words over the claim's words."""
    if not claim or not text:
        return 0.0
    places: dict[str, list[int]] = {}
    for index, word in enumerate(text):
        places.setdefault(word, []).append(index)
    longest = 0
    lengths: dict[int, int] = {}
    for word in claim:
        lengths = {index: lengths.get(index - 1, 0) + 1 for index in places.get(word, ())}
        longest = max(longest, *lengths.values()) if lengths else longest
    return longest / len(claim)


def _characters(claim: str, text: str, size: int = 4) -> float:
    mine = _grams(claim, size)
    return len(mine & _grams(text, size)) / len(mine) if mine else 0.0


def _grams(text: str, size: int) -> set[str]:
    text = re.sub(r"\W+", " ", text.casefold()).strip()
    return {text[index : index + size] for index in range(max(len(text) - size + 1, 0))}


_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[^\W\da-zß-öø-ÿ][\w'’-]+")


def _names(claim: str) -> list[str]:
    """The capitalised words of a claim that does not write everything with capitals, its first word left out."""
    return [word for name in _NAME.findall(claim.strip()) for word in content_words(name)]


def _opposed(content: Sequence[str], near: frozenset[str]) -> bool:
    return any(OPPOSITES[word] & near for word in content if word in OPPOSITES and word not in near)


def _log(count: int) -> float:
    from math import log

    return log(1 + count) / 10
