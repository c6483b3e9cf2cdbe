"""Quotations: what a text puts in quotation marks of any kind and that is long enough to be someone's words."""

import re

from .items import Item

__all__ = ["read_quotations"]

LEAST_CHARACTERS = 12
"""Shorter text in quotation marks is a term or a label, not a quotation."""
LEAST_WORDS = 3
"""As above; CJK text, which has no blanks, needs only the characters (half as many)."""
MOST_CHARACTERS = 600

_MARKS = (
    r"“([^“”\n]{4,600})”",
    r"„([^„“”\n]{4,600})[“”]",
    r"«([^«»\n]{4,600})»",
    r"»([^«»\n]{4,600})«",
    r"「([^「」\n]{4,600})」",
    r"『([^『』\n]{4,600})』",
    r"‹([^‹›\n]{4,600})›",
    r"‘([^‘’\n]{12,600})’(?!\w)",
    r"(?<![\w\"])\"(?=\S)([^\"\n]{4,600})(?<=\S)\"(?![\w\"])",
)
_QUOTED = tuple(re.compile(pattern) for pattern in _MARKS)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def read_quotations(original: str) -> list[Item]:
    """The quotations of a text, without their marks, in order."""
    items: list[Item] = []
    for pattern in _QUOTED:
        for found in pattern.finditer(original):
            start, end = found.span(1)
            while start < end and original[start].isspace():
                start += 1
            while end > start and original[end - 1] in " \t,.;":
                end -= 1
            inner = original[start:end]
            if _matters(inner) and all(end <= item.start or start >= item.end for item in items):
                items.append(Item(kind="quotation", text=inner, start=start, end=end, value=" ".join(inner.split())))
    return sorted(items, key=lambda item: item.start)


def _matters(text: str) -> bool:
    if len(_CJK.findall(text)) * 2 >= len(text):
        return len(text) * 2 >= LEAST_CHARACTERS
    return len(text) >= LEAST_CHARACTERS and len(text.split()) >= LEAST_WORDS
