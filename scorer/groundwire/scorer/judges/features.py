"""What is measured about one claim against the evidence: the features that the rules and the combination look at."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from groundwire.scorer.claims import Check
from groundwire.scorer.judges.windows import Window, Windows, content_words, negated, words

__all__ = ["FEATURES", "Alignment", "align", "vector"]

FEATURES = (
    "coverage",
    "sentence",
    "neighbours",
    "figure_missing",
    "name_missing",
    "capital_missing",
    "contradicted",
    "denies",
    "opposite",
    "superlative",
    "one_missing",
    "speaker",
)
"""Names of the numbers in `vector`, in its order."""

_SUPERLATIVE = re.compile(
    r"(?i)\b(?:first|last|only|all|every|always|never|most|least|best|worst|oldest|youngest|largest|smallest|"
    r"highest|lowest|none|any|exclusively|entirely)\b"
)
_SPEAKER = re.compile(r"(?i)\b(?:i|i['’](?:m|ve|d)|my|me)\b")
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
        content = frozenset(self.content)
        return max(self.best.lines, key=lambda line: len(content.intersection(words(line))), default="")


def align(claim: str, windows: Windows, checks: Sequence[Check] = ()) -> Alignment:
    """Find the window that covers the claim best, among those that BM25 ranks highest."""
    content = list(dict.fromkeys(content_words(claim)))
    candidates = windows.best(content)
    best = max(
        candidates,
        key=lambda window: (_weighted(content, window.bag), window.block.startswith("E"), -len(window.bag)),
        default=None,
    )
    return Alignment(claim, best, windows, tuple(checks))


def vector(alignment: Alignment) -> tuple[float, ...]:
    """The features of `FEATURES`, in that order, each in [0, 1].

    How much of the claim's words the evidence holds (long words weigh more), its best sentence holds, and holds side by
    side; whether a figure, a name, a capitalised word is missing; whether a value is contradicted; whether the claim
    denies what the nearest sentence doesn't, or the two use opposite words; whether the claim says "first", "only"
    and the like; whether exactly one word is missing; whether somebody speaks of himself.
    """
    vocabulary = alignment.windows.vocabulary
    content = alignment.content
    near = alignment.nearest
    figures = [check for check in alignment.checks if check.check in {"number", "date", "unit"}]
    denies = negated(alignment.claim)
    missing = sum(word not in vocabulary for word in content)
    return (
        _weighted(content, vocabulary),
        _share(content, frozenset(words(near))),
        _neighbours(content, alignment.windows),
        float(any(check.outcome != "found" for check in figures)),
        float(any(check.outcome != "found" for check in alignment.checks if check.check == "name")),
        float(any(word not in vocabulary for word in _capitals(alignment.claim))),
        float(any(check.outcome == "contradicted" for check in alignment.checks)),
        float(denies and not negated(near)),
        float(_opposed(content, frozenset(words(near)))),
        float(bool(_SUPERLATIVE.search(alignment.claim))),
        float(missing == 1),
        float(bool(_SPEAKER.search(alignment.claim))),
    )


def _share(some: Sequence[str], of: frozenset[str]) -> float:
    return sum(word in of for word in some) / len(some) if some else 0.0


def _weighted(content: Sequence[str], bag: frozenset[str]) -> float:
    """Coverage in which long words and figures weigh more: they are rarer."""
    weights = {word: 2.0 if any(map(str.isdigit, word)) else min(len(word), 10) / 5 for word in content}
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in bag) / total if total else 0.0


def _neighbours(content: Sequence[str], windows: Windows) -> float:
    """Share of the claim's neighbouring content words that some sentence of the evidence has together."""
    pairs = list(itertools.pairwise(content))
    if not pairs:
        return 0.0
    return sum(any(one in bag and other in bag for bag in windows.sentences) for one, other in pairs) / len(pairs)


_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[^\W\da-zß-öø-ÿ][\w'’-]+")


def _capitals(claim: str) -> list[str]:
    """The capitalised words of a claim, its first word left out."""
    return [word for name in _NAME.findall(claim.strip()) for word in content_words(name)]


def _opposed(content: Sequence[str], near: frozenset[str]) -> bool:
    return any(OPPOSITES[word] & near for word in content if word in OPPOSITES and word not in near)
