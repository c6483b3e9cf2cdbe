"""The evidence cut into windows of a few sentences, and the words of a text, for lexical alignment."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from groundwire.scorer.checks.data import Leaf, read_leaves
from groundwire.scorer.evidence import View
from groundwire.scorer.judges.sentences import sentences

__all__ = ["Window", "Windows", "content_words", "negated", "words"]

_STOPWORDS_LIST = """
a about above after again all also am an and any are as at be because been before being below between both but
by can could did do does doing down during each few for from further had has have having he her here hers him
his how i if in into is it its itself just me more most my myself no nor not now of off on once only or other
our ours out over own same she should so some such than that the their theirs them then there these they this
those through to too under until up us very was we were what when where which while who whom why will with would
you your yours yes yeah oh well know think really 's 't 'm 're 've 'll 'd n't s t m re ve ll d der die das den
dem des ein eine einen einem einer eines und oder aber ist sind war waren wird werden wurde wurden hat haben ich
sie er es wir ihr ihre ihren ihrem ihrer sein seine zu zum zur von vom mit für auf aus bei nach um im am an als
auch noch el la los las un una unos unas y o pero es son fue fueron ha han de del al en con por para que se su
sus lo le les como más le les des du et ou mais est sont était ont à au aux dans sur avec pour par que qui ce
cette ces son sa ses il elle
"""
_STOPWORDS = frozenset(_STOPWORDS_LIST.split())
_TOKEN = re.compile(r"[㐀-鿿぀-ヿ가-힯]|[^\W_]+(?:['’][^\W_]+)?", re.UNICODE)
_CJK = re.compile(r"[㐀-鿿぀-ヿ가-힯]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LINE_END = re.compile(r"(?<=[.!?。！？])\s+|\n")
_SIZE = 3
"""Sentences in a prose window."""
_PROSE = 160
"""From this many characters on a string in data is read as prose."""
_MOST_LINES = 60
"""Members kept of one record."""
_PATH_NOISE = re.compile(r"[\[\]\d$'._-]+")
_MOST_WINDOWS = 400
"""Windows kept of one view; more evidence than that is looked at through its first windows only."""


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    """A light English stem: enough for plurals and verb endings, harmless elsewhere."""
    word = word.replace("’", "'")
    word = word.removesuffix("'s")
    if len(word) == 4 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    if len(word) > 4:
        for ending, rest in (
            ("ies", "y"),
            ("sses", "ss"),
            ("ing", ""),
            ("ied", "y"),
            ("ed", ""),
            ("es", ""),
            ("s", ""),
            ("ly", ""),
        ):
            if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
                word = word[: -len(ending)] + rest
                break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def words(text: str) -> list[str]:
    """The words of a text, stemmed and case-folded; CJK characters in overlapping pairs."""
    found: list[str] = []
    previous: tuple[str, int] | None = None
    for token in _TOKEN.finditer(_CAMEL.sub(" ", text)):
        word = token.group(0).casefold()
        if _CJK.match(word):
            if previous is not None and previous[1] == token.start():
                found.append(previous[0] + word)
            previous = (word, token.end())
        else:
            previous = None
            found.append(_stem(word))
    return found


def content_words(text: str) -> list[str]:
    """The words that carry content: no stopwords."""
    return [word for word in words(text) if word not in _STEMMED_STOPWORDS]


_STEMMED_STOPWORDS = _STOPWORDS | {_stem(word) for word in _STOPWORDS}


_NEGATION = re.compile(
    r"(?i)\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|can['’]?t|\w+n['’]t|n't|unable|"
    r"fail(?:s|ed)?|lacks?|denied|refused|unavailable|"
    r"non-?\w+|nicht|kein\w*|nie|niemals|ohne|no|nunca|ningun\w*|ningún|sin|tampoco|ne|pas|jamais|aucune?|"
    r"sans)\b|不|没|沒|無|无|未|非"
)


def negated(text: str) -> bool:
    """Whether a negation stands in the text."""
    return bool(_NEGATION.search(text))


@dataclass(frozen=True)
class Window:
    """A stretch of one shown block."""

    block: str
    span_id: str | None
    text: str
    """What the words are taken from: prose verbatim, data as `path: value` lines."""
    start: int
    """Offset of the stretch in the block's shown text; -1 where the window is data."""
    failed: bool
    data: bool

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Its sentences, or its lines where it is data, verbatim."""
        return tuple(line for line in _LINE_END.split(self.text) if line.strip())

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words in order."""
        return tuple(words(self.text))

    @cached_property
    def bag(self) -> frozenset[str]:
        """The different words."""
        return frozenset(self.words)


class Windows:
    """All windows of a view, searchable by BM25."""

    def __init__(self, view: View, *, language: str = "en") -> None:
        self.all: tuple[Window, ...] = tuple(_cut(view, language))
        self.usable: tuple[Window, ...] = tuple(window for window in self.all if not window.failed)
        """Windows of blocks that may support something: a failed tool's may not."""

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every word of the usable windows."""
        return frozenset(word for window in self.usable for word in window.bag)

    @cached_property
    def sentences(self) -> tuple[frozenset[str], ...]:
        """The words of each sentence, or line of data, of the usable windows."""
        lines = dict.fromkeys(line for window in self.usable for line in window.lines)
        return tuple(frozenset(words(line)) for line in lines)

    @cached_property
    def _retriever(self) -> Any:
        import bm25s

        corpus = [list(window.words) or ["\0"] for window in self.usable]
        if len(corpus) < 2:
            return None
        retriever = bm25s.BM25()
        retriever.index(corpus, show_progress=False)
        return retriever

    def best(self, query: Sequence[str], *, count: int = 8) -> list[Window]:
        """The windows that BM25 ranks highest for these words, best first."""
        if not self.usable or not query:
            return list(self.usable[:count])
        retriever = self._retriever
        if retriever is None:
            return list(self.usable)
        known = [word for word in query if word in self.vocabulary]
        if not known:
            return list(self.usable[:count])
        indices, _ = retriever.retrieve([known], k=min(count, len(self.usable)), show_progress=False)
        return [self.usable[int(index)] for index in indices[0]]


def _cut(view: View, language: str) -> Iterator[Window]:
    count = 0
    for shown in view.shown:
        for text, start, data in _windows_of(shown.text, language):
            if count >= _MOST_WINDOWS:
                return
            count += 1
            block = shown.block
            yield Window(block.name, block.span_id, text, start, block.failed, data)


def _windows_of(text: str, language: str) -> Iterator[tuple[str, int, bool]]:
    leaves, _ = read_leaves(text)
    yield from ((record, -1, True) for record in _records(leaves))
    for leaf in leaves:
        if leaf.kind == "prose" or (leaf.kind == "text" and len(leaf.text) >= _PROSE):
            for window, start in _passages(leaf.text, language):
                yield window, leaf.start + start if leaf.origins is None else -1, False


def _passages(text: str, language: str) -> Iterator[tuple[str, int]]:
    places = sentences(text, language=language)
    for first in range(max(1, len(places) - _SIZE + 1)):
        group = places[first : first + _SIZE]
        if group:
            yield text[group[0][0] : group[-1][1]], group[0][0]


def _records(leaves: Sequence[Leaf]) -> Iterator[str]:
    """One text per object: its members and those of what hangs below it, with their paths, as `path words: value`."""
    lines: dict[int, list[str]] = {}
    for leaf in leaves:
        if leaf.kind not in {"text", "number", "word"} or len(leaf.text) >= _PROSE:
            continue
        line = f"{_PATH_NOISE.sub(' ', leaf.path or leaf.key).strip()}: {leaf.text}"
        branch = leaf.branch
        while branch is not None:
            group = lines.setdefault(id(branch), [])
            if len(group) < _MOST_LINES:
                group.append(line)
            branch = branch.parent
    yield from ("\n".join(group) for group in lines.values())
