"""Citations as the providers' APIs return them: Anthropic's on text blocks, OpenAI's as annotations with offsets."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from groundwire.scorer.judges.languages import guess
from groundwire.scorer.judges.sentences import sentences
from groundwire.scorer.verification.passages import CitedClaim, CitedPassage

__all__ = ["read_anthropic", "read_openai"]

_Found = tuple[tuple[CitedClaim, ...], tuple[str, ...]]
"""The claims, and the passages that cite nothing."""
_MARKER = re.compile(r"\s*(?:\(\s*\[[^\]]*\]\([^)]*\)\s*\)|\[[^\]]*\]\([^)]*\)|【[^】]*】|\[\d{1,3}\]|https?://\S+)\s*")
"""What a citation looks like in the text itself: a link, `【4:0†source】`, `[1]`."""
_LOOSE_STOP = re.compile(r"\s+([.,;:!?])")
_WORDS = re.compile(r"\w{2,}")


def read_anthropic(data: Mapping[str, Any], sources: Mapping[str, str]) -> _Found | None:
    """The claims of a message whose text blocks bear `citations`; None where this isn't one.

    One block is one claim: the API cuts blocks at what a citation supports. A document goes by its title where a
    source has that id, else by its index; a search or web result by its `source` or `url`.
    """
    content = data.get("content")
    if not isinstance(content, list):
        return None
    texts = [block for block in content if isinstance(block, Mapping) and block.get("type") == "text"]
    if not any("citations" in block for block in texts):
        return None
    claims, uncited = [], []
    for block in texts:
        text = str(block.get("text") or "").strip()
        passages = tuple(_passage(one, sources) for one in block.get("citations") or () if isinstance(one, Mapping))
        if text and passages:
            claims.append(CitedClaim(text=text, passages=passages))
        elif _WORDS.search(text):
            uncited.append(text)
    return tuple(claims), tuple(uncited)


def _passage(citation: Mapping[str, Any], sources: Mapping[str, str]) -> CitedPassage:
    by_character = citation.get("type") == "char_location"
    return CitedPassage(
        source=_document(citation, sources),
        quote=str(citation.get("cited_text") or ""),
        start=_offset(citation.get("start_char_index")) if by_character else None,
        end=_offset(citation.get("end_char_index")) if by_character else None,
    )


def _document(citation: Mapping[str, Any], sources: Mapping[str, str]) -> str:
    for key in ("source", "url", "document_title", "title"):
        if (name := citation.get(key)) and name in sources:
            return str(name)
    index = citation.get("document_index")
    title = citation.get("document_title") or citation.get("source") or citation.get("url") or citation.get("title")
    if isinstance(index, int) and not title and 0 <= index < len(sources):
        return str(index) if str(index) in sources else list(sources)[index]
    return str(title or f"document {index}")


def read_openai(data: Mapping[str, Any], sources: Mapping[str, str]) -> _Found | None:
    """The claims of a response, chat completion or message whose text bears `annotations`; None where this isn't one.

    An annotation stands at a place in the answer: the claim is the sentence there, without the citation's own mark.
    It bears no quote, so the source is cited as a whole. A file goes by its id or its name, a page by its address.
    """
    texts = list(_annotated(data))
    if not texts:
        return None
    claims: list[CitedClaim] = []
    uncited: list[str] = []
    for text, annotations in texts:
        places = sentences(text, language=guess(text))
        cited: dict[int, list[CitedPassage]] = {}
        for annotation in annotations:
            passage, start, end = _annotation(annotation, sources)
            position = _sentence_at(text, places, start, end)
            if position is not None and passage not in cited.setdefault(position, []):
                cited[position].append(passage)
        for position, (start, end) in enumerate(places):
            sentence = _LOOSE_STOP.sub(r"\1", _MARKER.sub(" ", text[start:end])).strip()
            if position in cited:
                claims.append(CitedClaim(text=sentence, passages=tuple(cited[position])))
            elif _WORDS.search(sentence):
                uncited.append(sentence)
    return tuple(claims), tuple(uncited)


def _annotated(data: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Every text with annotations, in a response's output, a completion's choices or one message."""
    for item in _maps(data.get("output")):
        yield from _annotated(item)
    for choice in _maps(data.get("choices")):
        if isinstance(message := choice.get("message"), Mapping):
            yield from _annotated(message)
    content = data.get("content")
    for part in _maps(content):
        text = part.get("text")
        if isinstance(text, str) and "annotations" in part:
            yield text, list(_maps(part["annotations"]))
        elif isinstance(text, Mapping) and isinstance(text.get("value"), str):  # a message of the Assistants API
            yield text["value"], list(_maps(text.get("annotations")))
    if isinstance(content, str) and "annotations" in data:
        yield content, list(_maps(data["annotations"]))


def _maps(value: Any) -> Iterable[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()


def _annotation(annotation: Mapping[str, Any], sources: Mapping[str, str]) -> tuple[CitedPassage, int, int]:
    kind = str(annotation.get("type"))
    inner = annotation.get(kind)
    fields = {**annotation, **inner} if isinstance(inner, Mapping) else annotation
    names = [str(fields[key]) for key in ("url", "file_id", "filename", "title") if fields.get(key)]
    source = next((name for name in names if name in sources), names[0] if names else "no name")
    start = _offset(fields.get("start_index"))
    if start is None:
        start = _offset(fields.get("index")) or 0
    quote = fields.get("quote")
    passage = CitedPassage(source=source, quote=quote if isinstance(quote, str) and quote else None)
    return passage, start, _offset(fields.get("end_index")) or start


def _offset(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _sentence_at(text: str, places: Sequence[tuple[int, int]], start: int, end: int) -> int | None:
    """The sentence that an annotation is about: where it covers words, theirs; where it is a mark, the one before."""
    covered = text[start:end]
    if _WORDS.search(_MARKER.sub(" ", covered)):
        at = start + len(covered) - len(covered.lstrip())
        position = bisect_right(places, (at, len(text)))
        return position - 1 if position else None
    stop = max(start, 1)
    for position in range(bisect_left(places, (stop, 0)) - 1, -1, -1):
        begin, finish = places[position]
        if _WORDS.search(_MARKER.sub(" ", text[begin : min(finish, stop)])):
            return position
    return None
