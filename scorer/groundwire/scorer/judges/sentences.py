"""Sentences of a text as offsets: sentencex with its mistakes mended, for any script and without a download."""

import re

__all__ = ["sentences"]

_ABBREVIATIONS_LIST = """
approx appt apt art aug avg ave bldg bzgl bzw ca capt cf co col corp dec dept dept dipl dr ed eds env esp est
etc evtl excl exp feb fig figs fri gen ggf gov hr hrs inc incl inkl insb intl jan jr jul jun kap kg lat lbs ltd
max mar min misc mon mr mrs ms mt nat no nos nov nr núm oct op orig oz p pág par pp prof pt qty ref rep rev sat
sec sen sep sept sgt sog sr sra srta st std str sun tab tel temp thu tue univ usw vgl vol vols vs wed zzgl
"""
_ABBREVIATIONS = frozenset(_ABBREVIATIONS_LIST.split())
_BEFORE_NAMES_LIST = """
bzgl bzw ca capt col dipl dr ed eds esp evtl gen ggf gov insb mr mrs ms mt nr núm prof rep rev sen sgt sog sr
sra srta st vgl vs
"""
_BEFORE_NAMES = frozenset(_BEFORE_NAMES_LIST.split())
"""Abbreviations that a capital letter may follow within the sentence."""
_LAST_WORD = re.compile(r"([^\W\d_]+)\.[\s]*$")
_SINGLE_LETTER = re.compile(r"(?:^|[\s(])[^\W\d_]\.\s*$")
_ORDINAL = re.compile(r"(?:^|\s)\d{1,3}\.\s*$")
_CJK_END = re.compile(r"[。！？；｡]+[」』”’）)\]]*")
_CJK_QUOTE_GOES_ON = re.compile(r"^\s*(?:と|って|との|という|、|，)")
_FALLBACK = re.compile(r".+?(?:[.!?…]+[\"'”’)\]*]*(?=\s)|$)\s*", re.DOTALL)
_AFTER_UNIT = re.compile(r"\d\s?(?:kg|g|mg|km|m|cm|mm|l|ml|h|min|s|GB|MB|kWh|°C)\.\s+(?=[A-ZÀ-ÞА-Я¿¡])")
"""The end of a sentence that closes with a measure: elsewhere `kg.` is an abbreviation."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_MONTH_START = re.compile(
    r"(?i)^(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]|ene|abr|ago|dic|janv|f[ée]v|avr|juin|"
    r"juil|ao[ûu]t)"
)


def sentences(text: str, *, language: str = "en") -> tuple[tuple[int, int], ...]:
    """The sentences of one paragraph as `[start, end)` in code points, without white space at their ends.

    Abbreviations, decimals, numbered references and German ordinals don't end a sentence; CJK full stops do. A lone
    surrogate is read as any other unknown character. An unknown `language` is split by the rules for English.
    """
    pieces = _pieces(_SURROGATE.sub("\ufffd", text), language)
    found: list[tuple[int, int]] = []
    start = 0
    for index, end in enumerate(pieces):
        following = text[end : pieces[index + 1]] if index + 1 < len(pieces) else ""
        if following and _goes_on(text[start:end], following):
            continue
        trimmed = _trim(text, start, end)
        if trimmed is not None:
            found.append(trimmed)
        start = end
    return tuple(found)


def _pieces(text: str, language: str) -> list[int]:
    """Where sentencex and the CJK full stops end a piece, ascending; the last is the length of the text."""
    import sentencex

    pieces = list(sentencex.segment(language, text))
    if "".join(pieces) != text:  # it leaves characters out of some malformed texts
        pieces = [match.group(0) for match in _FALLBACK.finditer(text)]
    ends: set[int] = set()
    position = 0
    for piece in pieces:
        position += len(piece)
        ends.add(position)
    ends.update(match.end() for match in _CJK_END.finditer(text))
    ends.update(match.end() for match in re.finditer(r"\n+", text))
    ends.update(match.end() for match in re.finditer(r"[!?][\"'”’)*_]*\s+(?=[^\W\da-zß-ÿ])", text))
    ends.update(match.end() for match in _AFTER_UNIT.finditer(text))
    ends.discard(0)
    ends.add(len(text))
    return sorted(ends)


def _goes_on(piece: str, following: str) -> bool:
    """Whether the cut between two pieces is none."""
    if piece.endswith("\n"):  # a wrapped line goes on small, and not after the end of a sentence
        return following[:1].islower() and piece.rstrip()[-1:] not in {".", "!", "?", ":", ";"}
    word = _LAST_WORD.search(piece)
    if word and word.group(1).casefold() in _ABBREVIATIONS:
        return not following[:1].isupper() or word.group(1).casefold() in _BEFORE_NAMES
    if _SINGLE_LETTER.search(piece) and not piece.rstrip().endswith("I."):
        return True
    if re.search(r"\d[.,]$", piece) and following[:1].isdigit():
        return True
    if _ORDINAL.search(piece) and (following[:1].islower() or _MONTH_START.match(following)):
        return True
    if re.search(r"[.!?]\s*$", piece) and following[:1].islower() and not piece.rstrip().endswith(("!", "?")):
        return True
    return bool(_CJK_QUOTE_GOES_ON.match(following) and piece.rstrip()[-1:] in "」』”")


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if end > start else None
