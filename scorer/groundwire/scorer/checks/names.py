"""Names: sequences of capitalised words, and the words of a text as evidence is searched for them."""

import re
import unicodedata

from .calendars import MONTHS, WEEKDAYS
from .items import Item
from .vocabulary import words

__all__ = ["evidence_words", "name_words", "read_names"]

_WORD = re.compile(r"[^\W\d_]+(?:['’.&-][^\W\d_]+)*\.?")
_TOKEN = re.compile(r"[^\W_]+")
_ACRONYM = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.)+[^\W\d_](?![^\W_])\.?")
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])")
_JOINERS = words("of de del della di da do dos das du des la le van von der den zu y e und and et for the & al bin")
_FUNCTION_WORDS = words(
    "a an the this that these those it its he she they we you i your our my his her their there here in on at by for "
    "from to of with as if when while where what which who how why and or but so yes no not please thank thanks sorry "
    "sure however also since because after before once all any each every both some most none one two three is are was "
    "were be has have had do does did will would can could may might should shall let based according additionally "
    "currently overall finally first second third next then yes ok okay great hello hi dear best regards "
    "per about over "
    "under during between into until within without both either neither "
)
_FOREIGN_WORDS = words(
    "der die das ein eine und oder ich sie wir ihr es ist sind im am zum le la les un une il elle nous "
    "vous je el los las "
    "una yo usted o os as um uma eu ele ela lo gli i de het een ik u"
)
"""Function words of other languages: inside a sentence a capital makes them part of a name ("Los Angeles")."""
_LABELS = words(
    "note total order orders item items price prices status date time result results summary details "
    "information answer "
    "question ai json url id api pdf faq am pm utc gmt est pst number amount type name size color colour"
)
"""Everyday nouns that are written with a capital where they label something."""
_CONTRACTION = re.compile(r"['’](?:s|d|ll|ve|re|m|t)$")
_LABEL_END = re.compile(r"[\s\x00\ue000]*:")
_GLOSS = re.compile(r"[ \x00]*\([A-Z]{2,5}\)")
"""A code in brackets after a name: the evidence may have the code alone, and who expanded it knew it from elsewhere."""
_OPENS_SENTENCE = re.compile(r"(?:^|[.!?:;\n\r|\ue000>()\[\]\"“”«„•·]|[-–—] ?|\d[.)]|\x00)[\s\x00]*\Z")
_NOUN_CAPITALS = words("de lb als gsw nds")
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|mit|für|von|auf|wurde|sind|Sie)\b")
_CAPITALS_HEADING = 0.6
"""Of a line of three words or more, the share of capitalised ones above which it is a heading, whose capitals name
nothing."""


def read_names(text: str, original: str, language: str) -> list[Item]:
    """The names of a folded text in which what was read before is masked, in order.

    Scripts without capitals have none. Where a capital has another cause (the first word of a sentence, a heading,
    German nouns), the name is loose: it counts where evidence has it and isn't missed where evidence has not.
    """
    nouns = language.partition("-")[0].lower() in _NOUN_CAPITALS or len(_GERMAN.findall(text)) >= 2
    items: list[Item] = []
    for start, line in _lines(text):
        tokens = list(_WORD.finditer(line))
        capitals = sum(token.group()[0].isupper() for token in tokens)
        heading = len(tokens) >= 3 and capitals > _CAPITALS_HEADING * len(tokens)
        for run in _runs(tokens, line):
            item = _name(run, line, start, original, loose=heading or nouns)
            if item is not None:
                items.append(item)
    return items


def _lines(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    at = 0
    for line in text.split("\n"):
        lines.append((at, line))
        at += len(line) + 1
    return lines


def _runs(tokens: list[re.Match[str]], line: str) -> list[list[re.Match[str]]]:
    """Capitalised words that stand together, with the small words that join them ("Bank of America")."""
    runs: list[list[re.Match[str]]] = []
    open_run: list[re.Match[str]] = []
    pending: list[re.Match[str]] = []
    for word in tokens:
        last = pending[-1] if pending else open_run[-1] if open_run else None
        together = (
            last is not None and line[last.end() : word.start()].strip("\x00") in (" ", "") and last.group()[-1] != "."
        )
        initial = last is not None and len(last.group()) == 2 and line[last.end() : word.start()] == " "
        if not (together or initial):
            if open_run:
                runs.append(open_run)
            open_run, pending = [], []
        if word.group()[0].isupper():
            open_run = [*open_run, *pending, word]
            pending = []
        elif open_run and word.group().lower() in _JOINERS:
            pending.append(word)
        elif open_run:
            runs.append(open_run)
            open_run, pending = [], []
    if open_run:
        runs.append(open_run)
    return runs


def _name(run: list[re.Match[str]], line: str, offset: int, original: str, *, loose: bool) -> Item | None:
    opens = _OPENS_SENTENCE.search(line, max(0, run[0].start() - 6), run[0].start()) is not None
    label = _LABEL_END.match(line, run[-1].end()) is not None
    dropped = _FUNCTION_WORDS | _LABELS | _JOINERS
    if opens:
        dropped |= _FOREIGN_WORDS
    while run and (_plain(run[0].group()) in dropped or _is_calendar(run[0].group())):
        label = label or _plain(run[0].group()) in _LABELS
        run, opens = run[1:], False
    while run and (_plain(run[-1].group()) in _FUNCTION_WORDS | _LABELS | _JOINERS or _is_calendar(run[-1].group())):
        run = run[:-1]
    if not run or (len(run) == 1 and len(run[0].group()) < 2):
        return None
    start, end = run[0].start() + offset, run[-1].end() + offset
    if original[end - 1] == ".":
        end -= 1
    text = original[start:end]
    parts = name_words(text)
    if not parts:
        return None
    return Item(
        kind="name",
        text=text,
        start=start,
        end=end,
        value=" ".join(parts),
        # A sentence's first word has a capital of its own: "Contact Alice" is found where Alice is.
        others=(" ".join(parts[1:]),) if opens and len(parts) > 1 else (),
        loose=loose
        or (len(run) == 1 and (opens or label))
        or _LABEL_END.match(line, end - offset) is not None
        or _GLOSS.match(line, end - offset) is not None,
    )


def _plain(word: str) -> str:
    return _CONTRACTION.sub("", word.lower().rstrip("."))


def _is_calendar(word: str) -> bool:
    return _plain(word) in MONTHS or _plain(word) in WEEKDAYS


def name_words(text: str) -> tuple[str, ...]:
    """The words of a text as names are compared: no case, no accents, no possessive ending, no joining words."""
    if "." in text:
        text = _ACRONYM.sub(lambda found: found.group().replace(".", ""), text)
    parts: list[str] = []
    for token in _TOKEN.findall(text.replace("'s", "").replace("’s", "") if "s" in text else text):
        word = token.casefold()
        if not word.isascii():
            word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
        if word and word not in _JOINERS:
            parts.append(word)
    return tuple(parts)


def evidence_words(text: str) -> frozenset[str]:
    """The words of a text that is searched: as `name_words`, and the parts of camelCase words too."""
    parts = frozenset(name_words(text))
    return parts.union(name_words(_CAMEL.sub(" ", text))) if _CAMEL.search(text) is not None else parts
