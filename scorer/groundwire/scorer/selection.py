"""Which parts of the evidence a judge is shown, where it doesn't fit: the windows most relevant to each claim.

The bounds are those of `evidence.fit`; what differs is which characters fill them. `fit` shows the head of every block,
`select` the windows that lexical relevance (BM25) ranks highest for the queries in turn, so that a fact in the middle
of a long result is seen. What is left of the room shows heads again.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from groundwire.scorer.evidence import Block, Limits, Shown, View, cut, fit, mark, share

__all__ = ["select", "shrink"]

WINDOW = 400
"""Characters in a window; the next one starts half a window later, so that a short fact lies whole in one of them."""
MOST_WINDOWS = 50
"""Windows ranked for one query; more would not fit beside those of the other queries."""
LEAST_WINDOW = 40
"""Below this a window says nothing: limits that force it show heads instead."""
STEM = 5
"""Letters of a longer word that are matched beside the word itself, so that inflected forms meet."""

SHORT = 4
"""Letters or digits below which a word is looked for as a whole: shorter ones stand inside almost any other."""

_WORD = re.compile(r"\d[\d.,]*\d|[^\W_]+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
"""Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, ideographs."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BREAK = re.compile(r"[\s,;。、，；]")


def select(blocks: Sequence[Block], queries: Sequence[str], limits: Limits, *, media: int = 0) -> View:
    """Show what of the blocks is most relevant to the queries, within the limits (policy `relevant`).

    Where everything fits, and where no query has a word, the view is that of `fit`. Each query's best window comes
    before any query's second. Blocks keep their order; every gap bears a mark, and the view's coverage counts it.
    """
    ordered = tuple(blocks)
    whole = fit(ordered, limits, media=media)
    if not any(shown.cut for shown in whole.shown) or not any(words(query) for query in queries):
        return whole
    tools = [block for block in ordered if block.kind == "tool"]
    given = [block for block in ordered if block.kind != "tool"]
    arguments = _arguments(tools, limits)
    room = limits.total - sum(len(text) for text, _ in arguments.values())
    texts = _fill(tools, queries, room, limits.response) | _fill(given, queries, limits.given, limits.given)
    return View(
        shown=tuple(
            Shown(
                block=block,
                text=texts[block.name][0],
                cut=texts[block.name][1],
                arguments=arguments.get(block.name, ("", 0))[0],
                arguments_cut=arguments.get(block.name, ("", 0))[1],
            )
            for block in ordered
        ),
        media=media,
    )


def shrink(view: View, factor: float) -> View:
    """The same view with every text cut to `factor` (0 … 1) of what it shows: for a model whose context is too small.

    Short texts are spared as long as the long ones can pay (water-filling).
    """
    sizes = [len(shown.text) + len(shown.arguments) for shown in view.shown]
    shown = []
    for old, room in zip(view.shown, share(sizes, int(sum(sizes) * factor)), strict=True):
        text_room, arguments_room = share([len(old.text), len(old.arguments)], room)
        text, text_gone = cut(old.text, text_room)
        arguments, arguments_gone = cut(old.arguments, arguments_room)
        shown.append(
            Shown(
                block=old.block,
                text=text,
                arguments=arguments,
                cut=min(old.cut + text_gone, len(old.block.text)),
                arguments_cut=min(old.arguments_cut + arguments_gone, len(old.block.arguments)),
            )
        )
    return View(shown=tuple(shown), media=view.media)


def words(text: str) -> list[str]:
    """What relevance compares: words, stems of long ones, numbers, pairs of characters in scripts without spaces."""
    tokens: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", _CAMEL.sub(" ", text)).casefold()):
        word = match.group()
        if word[0].isdigit():
            tokens.append(word.replace(",", "").rstrip("."))
        elif run := _UNSPACED.search(word):
            characters = run.group()
            tokens.extend(characters[index : index + 2] for index in range(max(len(characters) - 1, 1)))
        else:
            tokens.append(word)
            if len(word) > STEM:
                tokens.append(word[:STEM] + "*")
    return tokens


@dataclass(frozen=True, kw_only=True)
class _Window:
    block: int
    start: int
    end: int


@dataclass(kw_only=True)
class _Choice:
    """The parts of one block's text that are shown, and what they and their marks take."""

    text: str
    spans: list[tuple[int, int]] = field(default_factory=list)

    def with_span(self, start: int, end: int) -> list[tuple[int, int]]:
        """The spans with one more, merged where they touch or leave a gap shorter than its own mark."""
        spans = sorted([*self.spans, (start, end)])
        merged = [spans[0]]
        for begin, stop in spans[1:]:
            if begin - merged[-1][1] <= len(_gap(len(self.text))):
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((begin, stop))
        return merged

    def render(self, spans: Sequence[tuple[int, int]]) -> str:
        """The shown text: the spans, with a mark for every gap."""
        if not spans:
            return ""
        pieces: list[str] = []
        position = 0
        for start, end in spans:
            if start > position:
                pieces.append(_gap(start - position))
            pieces.append(self.text[start:end])
            position = end
        if position < len(self.text):
            pieces.append(mark(len(self.text) - position))
        return "".join(pieces)


def _gap(gone: int) -> str:
    return f"{mark(gone)} "


def _arguments(tools: Sequence[Block], limits: Limits) -> dict[str, tuple[str, int]]:
    """Arguments keep at most a quarter of the room: they are no evidence of a result."""
    wanted = [min(len(block.arguments), limits.arguments) for block in tools]
    return {
        block.name: cut(block.arguments, room)
        for block, room in zip(tools, share(wanted, limits.total // 4), strict=True)
    }


def _fill(blocks: Sequence[Block], queries: Sequence[str], total: int, each: int) -> dict[str, tuple[str, int]]:
    """What is shown of each block's text, and how many of its characters are not."""
    rooms = share([min(len(block.text), each) for block in blocks], total)
    shown = {block.name: (block.text, 0) for block in blocks}
    long = [block for block, room in zip(blocks, rooms, strict=True) if len(block.text) > room]
    room = total - sum(given for block, given in zip(blocks, rooms, strict=True) if len(block.text) <= given)
    size = min(WINDOW, each - 2 * len(_gap(10**6)), room - 2 * len(_gap(10**6)))
    if size < LEAST_WINDOW:
        return {block.name: cut(block.text, given) for block, given in zip(blocks, rooms, strict=True)}
    windows = [
        _Window(block=index, start=start, end=end)
        for index, block in enumerate(long)
        for start, end in _windows(block.text, size)
    ]
    choices = [_Choice(text=block.text) for block in long]
    sizes = [0] * len(long)
    for window in _in_turn([*_rankings(long, windows, queries), _heads(windows)]):
        if room - sum(sizes) < LEAST_WINDOW:
            break
        if each - sizes[window.block] < LEAST_WINDOW:
            continue
        choice = choices[window.block]
        spans = choice.with_span(window.start, window.end)
        if spans == choice.spans:
            continue
        taken = len(choice.render(spans))
        if taken <= each and sum(sizes) - sizes[window.block] + taken <= room:
            choice.spans = spans
            sizes[window.block] = taken
    for block, choice in zip(long, choices, strict=True):
        kept = sum(end - start for start, end in choice.spans)
        shown[block.name] = (choice.render(choice.spans), len(block.text) - kept)
    return shown


def _windows(text: str, size: int) -> Iterable[tuple[int, int]]:
    """Overlapping windows over the text, begun and ended between words or fields where one is near."""
    breaks = [match.end() for match in _BREAK.finditer(text)]
    start = 0
    while True:
        end = min(start + size, len(text))
        if end < len(text):
            near = bisect_left(breaks, end + 1) - 1
            if near >= 0 and breaks[near] > start + size // 2:
                end = breaks[near]
        yield start, end
        if end == len(text):
            return
        following = start + size // 2
        near = bisect_left(breaks, following)
        start = breaks[near] if near < len(breaks) and breaks[near] < end else following


def _rankings(blocks: Sequence[Block], windows: Sequence[_Window], queries: Sequence[str]) -> list[list[_Window]]:
    """For each query, the windows that share a word with it, the most relevant first."""
    import bm25s

    asked = [tokens for query in queries if (tokens := sorted(set(words(query))))]
    if not asked:
        return []
    shared = _shared({token for tokens in asked for token in tokens})
    places = [[match.start() for match in shared.finditer(_folded(block.text))] for block in blocks]
    near = [window for window in windows if _any_in(places[window.block], window)]
    corpus = [words(blocks[window.block].text[window.start : window.end]) for window in near]
    if not any(corpus):
        return []
    index = bm25s.BM25()
    index.index(corpus, show_progress=False)
    rankings = []
    for tokens in asked:
        scores = index.get_scores(tokens)
        best = (-scores).argsort(kind="stable")[:MOST_WINDOWS]
        rankings.append([near[position] for position in best if scores[position] > 0])
    return rankings


def _folded(text: str) -> str:
    """The text in one case and width where that moves no character; else as it is."""
    folded = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return folded if len(folded) == len(text) else text.lower() if len(text.lower()) == len(text) else text


def _shared(tokens: Iterable[str]) -> re.Pattern[str]:
    """A quick test for where words can be shared: only windows around there are worth reading word by word."""
    literals = set()
    for token in tokens:
        stem = token.rstrip("*")[:STEM]
        literal = ",?".join(map(re.escape, stem)) if stem[:1].isdigit() else re.escape(stem)
        literals.add(rf"\b{literal}\b" if len(token) < SHORT and stem.isascii() else literal)
    return re.compile("|".join(sorted(literals)))


def _any_in(places: Sequence[int], window: _Window) -> bool:
    index = bisect_left(places, window.start)
    return index < len(places) and places[index] < window.end


def _heads(windows: Sequence[_Window]) -> list[_Window]:
    """The windows from the heads on, every block's first before any block's second."""
    return sorted(windows, key=lambda window: (window.start, window.block))


def _in_turn(rankings: Sequence[Sequence[_Window]]) -> Iterable[_Window]:
    """The first of each query's ranking, then the second of each, …; the last ranking (heads) only after all others."""
    *queries, heads = rankings
    for depth in range(max((len(ranking) for ranking in queries), default=0)):
        for ranking in queries:
            if depth < len(ranking):
                yield ranking[depth]
    yield from heads
