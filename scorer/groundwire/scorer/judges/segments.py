"""An answer cut into claims with exact offsets: sentences, list items, table rows, members, clauses with a figure."""

import re
from collections.abc import Iterator

from groundwire.scorer.claims import ClaimKind, DraftClaim
from groundwire.scorer.judges.phrases import kind_of
from groundwire.scorer.judges.sentences import sentences

__all__ = ["segments"]

_Place = tuple[int, int]

_BLANK = re.compile(r"^\s*$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+")
_QUOTED = re.compile(r"^\s*>+\s?")
_ITEM = re.compile(r"^\s*(?:[-*+•‣◦–·]\s+(?:\[[ xX]\]\s+)?|\(?\d{1,3}[.)]\s+|\(?[a-zA-Z][.)]\s+|[①-⑳]\s*|\d{1,2}、\s*)")
_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$|^[^|]+(?:\s\|\s[^|]+){2,}$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_JSON_MEMBER = re.compile(
    r'"(?:[^"\\\n]|\\.){1,80}"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)'
)
_LABEL_ONLY = re.compile(r"^[\s*_]*[^:：\d.!?]{1,60}[:：][\s*_]*$")
_EMPHASIS = ("***", "**", "__", "*", "_")

_LONGEST = 1_000
"""Characters of a sentence within which clauses are looked for."""
_FIGURE = re.compile(r"\d")
_CUT = re.compile(
    r"(?P<strong>\s*[;；]\s*|\s+[–—]\s+|，\s*|,\s+(?:(?:and|but|while|whereas|und|aber|während|wobei|y|pero|"
    r"mientras que|et|mais|tandis que)\s+)?"
    r"(?:which\s+)?)|(?P<weak>\s+(?:and|but|while|whereas|und|aber|während|y|pero|et|mais)\s+|(?:并且|而且|以及|同时))"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_SMALL_LIST = """
at on in of to for from by with per the an and or until till between a m p est cet cest utc gmt edt pst pdt edt
jst am pm usd eur gbp cny rmb jpy inr chf dollars dollar euros euro kg km lb lbs mb gb percent jan feb mar apr
may jun jul aug sep sept oct nov dec january february march april june july august september october november
december um am im zu von für mit bis der die das den uhr januar februar märz mai juni juli oktober dezember el
la los las de del al con por en a las hasta enero febrero marzo abril mayo junio julio agosto septiembre octubre
noviembre diciembre le les du des au aux avec pour à janvier février mars avril juin juillet août septembre
octobre novembre décembre monday tuesday wednesday thursday friday saturday sunday next day
"""
_SMALL = frozenset(_SMALL_LIST.split())
"""Words that make no clause by themselves: prepositions, months, units."""
_CODE_FIRST = re.compile(r"[*_`#]*(?=[A-Za-z-]*\d)(?=[\d-]*[A-Za-z])[A-Za-z0-9-]{4,}(?![A-Za-z0-9])")
"""A code right after the cut goes on with an enumeration ("UDMOP1, XAZ3C0 and 4XGCCM")."""
_RANGE_OPENS = re.compile(r"\b(?:between|from|zwischen|entre|von|de|either|both)\s+\S*\d\S*(?:\s+\S+)?$", re.IGNORECASE)


def segments(answer: str, *, language: str = "en") -> tuple[DraftClaim, ...]:
    """The statements of an answer in its order, each verbatim with its offsets and kind.

    A list item, a table row, a member of a JSON object and a clause with a figure of its own are each one statement;
    headings, table heads, lead-ins and labels without a value are `filler`.
    """
    claims: list[DraftClaim] = []
    for start, end, kind in _statements(answer, language):
        start, end = _bare(answer, start, end)
        if end > start:
            text = answer[start:end]
            claims.append(DraftClaim(text=text, start=start, end=end, kind=kind or kind_of(text)))
    return tuple(claims)


def _statements(answer: str, language: str) -> Iterator[tuple[int, int, ClaimKind | None]]:
    stripped = answer.strip()
    if stripped[:1] in {"{", "["} and stripped[-1:] in {"}", "]"} and _JSON_MEMBER.search(answer):
        yield from _members(answer, 0, len(answer))
        return
    paragraph: _Place | None = None
    lines = list(_lines(answer))
    for index, (start, end) in enumerate(lines):
        line = answer[start:end]
        following = answer[slice(*lines[index + 1])] if index + 1 < len(lines) else ""
        if _starts_block(line, following):
            if paragraph:
                yield from _prose(answer, *paragraph, language)
                paragraph = None
            yield from _block_line(answer, start, end, following, language)
        else:
            paragraph = (paragraph[0] if paragraph else start, end)
    if paragraph:
        yield from _prose(answer, *paragraph, language)


def _lines(answer: str) -> Iterator[_Place]:
    position = 0
    for line in answer.splitlines(keepends=True):
        yield position, position + len(line.rstrip("\r\n"))
        position += len(line)


def _starts_block(line: str, following: str) -> bool:
    """Whether a line stands by itself and is no part of a running paragraph."""
    return bool(
        _BLANK.match(line)
        or _FENCE.match(line)
        or _RULE.match(line)
        or _HEADING.match(line)
        or _QUOTED.match(line)
        or _ITEM.match(line)
        or _TABLE_ROW.match(line)
        or _TABLE_RULE.match(line)
        or _LABEL_ONLY.match(line)
        or _TABLE_RULE.match(following)
        or re.match(r"^\s*\*\*[^*]+\*\*\s*:?\s*$", line)
        or re.match(r"^\s*(?:\*\*)?[^\W\d][^:：.!?。]{0,40}[:：](?:\*\*)?\s*\S", line)
    )


def _block_line(
    answer: str, start: int, end: int, following: str, language: str
) -> Iterator[tuple[int, int, ClaimKind | None]]:
    line = answer[start:end]
    if _BLANK.match(line) or _FENCE.match(line) or _RULE.match(line) or _TABLE_RULE.match(line):
        return
    if _TABLE_RULE.match(following) and "|" in line:
        yield start, end, "filler"
        return
    if _TABLE_ROW.match(line):
        yield start, end, None if _FIGURE.search(line) or _WORD.search(line) else "filler"
        return
    if ("{" in line and _JSON_MEMBER.search(line)) or re.match(r'^\s*"[^"]+"\s*:', line):
        yield from _members(answer, start, end)
        return
    for marker in (_QUOTED, _HEADING, _ITEM):
        if (found := marker.match(line)) is not None:
            if marker is _HEADING and not _FIGURE.search(line):
                yield start + found.end(), end, "filler"
                return
            start += found.end()
            line = answer[start:end]
    if _LABEL_ONLY.match(line):
        kind: ClaimKind | None = None if _says_something(line) else "filler"
        yield start, end, kind
        return
    yield from _prose(answer, start, end, language)


_DONE = re.compile(
    r"(?i)\b(?:has|have) (?:\w+ ){0,2}been\b|\bsuccessfully\b|\bwurden?\b.*(?:\w+t|en)\b|\bha(?:n)? sido\b|\ba "
    r"été\b|\bis confirmed\b|已"
)


def _says_something(line: str) -> bool:
    """A lead-in that claims a deed ("Your booking has been updated as follows:") is a statement."""
    return bool(_DONE.search(line))


def _members(answer: str, start: int, end: int) -> Iterator[tuple[int, int, ClaimKind | None]]:
    for member in _JSON_MEMBER.finditer(answer, start, end):
        yield member.start(), member.end(), "filler" if member.group(0).endswith("null") else None


def _prose(answer: str, start: int, end: int, language: str) -> Iterator[tuple[int, int, ClaimKind | None]]:
    for first, last in sentences(answer[start:end], language=language):
        text = answer[start + first : start + last]
        if kind_of(text) != "fact":
            yield start + first, start + last, None
            continue
        for left, right in _clauses(text):
            yield start + first + left, start + first + right, None


def _clauses(sentence: str) -> Iterator[_Place]:
    """Cut a sentence where what stands on both sides has a figure and is a clause or a labelled value of its own."""
    begin = 0
    for cut in _CUT.finditer(sentence, 0, _LONGEST):
        left, right = sentence[begin : cut.start()], sentence[cut.end() :]
        nearest = _CUT.search(right)
        while nearest and not _FIGURE.search(right[: nearest.start()]):
            nearest = _CUT.search(right, nearest.end())
        right = right[: nearest.start()] if nearest else right
        if _inside_brackets(sentence, cut.start()) or _RANGE_OPENS.search(left) or _CODE_FIRST.match(right):
            continue
        if _FIGURE.search(left) and _FIGURE.search(right) and _is_clause(left) and _is_clause(right):
            yield begin, cut.start()
            begin = cut.end()
    yield begin, len(sentence)


def _inside_brackets(sentence: str, position: int) -> bool:
    before = sentence[:position]
    return any(before.count(opening) > before.count(closing) for opening, closing in ("()", "[]", "“”", "（）", "「」"))


def _is_clause(text: str) -> bool:
    if re.search(r"[一-鿿぀-ヿ]{2,}", text):
        return True
    if re.search(r"[^\W\d_]{2,}[*_]*\s*[:：=]\s*\S", text):
        return True
    words = [word for word in _WORD.findall(text) if word.casefold() not in _SMALL and not word.isupper()]
    figure = _FIGURE.search(text)
    before = [word for word in _WORD.findall(text[: figure.start()]) if word.casefold() not in _SMALL] if figure else []
    return len(words) >= 2 or bool(words and before and not before[0][:1].isupper())


def _bare(answer: str, start: int, end: int) -> _Place:
    """The place without white space, table bars and emphasis around the whole of it."""
    while True:
        while start < end and (answer[start].isspace() or answer[start] == "|"):
            start += 1
        while end > start and (answer[end - 1].isspace() or answer[end - 1] == "|"):
            end -= 1
        text = answer[start:end]
        for mark in _EMPHASIS:
            if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark) and text.count(mark) == 2:
                start, end = start + len(mark), end - len(mark)
                break
        else:
            return start, end
