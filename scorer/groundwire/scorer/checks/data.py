"""Data: JSON in evidence read value by value with its path, also where it was cut in the middle or is Python's repr."""

import re
from dataclasses import dataclass, field
from functools import cached_property

from .names import name_words

__all__ = ["Branch", "Leaf", "read_leaves"]

DEPTH = 64
"""Deeper nesting is read without paths, so that hostile input costs no more than its length."""
_LONGEST_KEY = 80
"""A longer key ends the path: it is text, not a name."""
_LONGEST_SCALAR = 40
"""Longest value that objects are counted by."""

_TOKEN = re.compile(
    r"[\s,]*+(?:"
    r'(?P<text>"(?:[^"\\]++|\\.)*+"|\'(?:[^\'\\]++|\\.)*+\')(?P<colon>\s*+:)?'
    r"|(?P<number>-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?)(?![\w.])"
    r"|(?P<word>true|false|null|NaN|-?Infinity|True|False|None|nan|-?inf)\b"
    r"|(?P<mark>[{}\[\]])"
    r"|(?P<open>[\"'])"
    r")",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DIGIT = re.compile(r"\d")


@dataclass(eq=False)
class Branch:
    """An object or a list of the data, while and after it is read."""

    is_list: bool
    path: str | None
    """Its JSON path; None below a key that is no name."""
    key: str
    """The key it stands under; of a list's element the list's key."""
    parent: "Branch | None"
    size: int = 0
    """Elements or members."""
    tallies: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many of the objects in it have a given value under a given key."""
    unit: str = ""
    """What a member named `unit` or `currency` says."""
    texts: list[str] = field(default_factory=list)
    """Its short texts: what the object is called."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that name this object."""
        return frozenset(word for text in (*self.texts, self.key) for word in name_words(text) if len(word) > 2)

    def below(self, key: str, position: int) -> str | None:
        """The path of a member or an element."""
        if self.path is None or len(key) > _LONGEST_KEY:
            return None
        if self.is_list:
            return f"{self.path}[{position}]"
        if _NAME.match(key):
            return f"{self.path}.{key}"
        escaped = key.replace("\\", "\\\\").replace("'", "\\'")
        return f"{self.path}['{escaped}']"


@dataclass(slots=True, eq=False)
class Leaf:
    """A scalar of the data, or a key that holds digits and may itself be a value, or a piece of prose."""

    kind: str
    """`text`, `number`, `word` (`true`, `null`, …), `key` or `prose`."""
    text: str
    """Decoded."""
    start: int
    """Offset of its first character in the block's text, quotation marks left out."""
    end: int
    key: str = ""
    """The key it stands under; of a list's element the list's key."""
    branch: Branch | None = None
    """The object or list that holds it; None of prose."""
    position: int = 0
    """Its index in a list."""
    origins: list[int] | None = None
    """Of a text with escapes: the offset that each decoded character came from, and the end."""
    outer: "Leaf | None" = None
    """Of a leaf in JSON that stands in a string: that string."""

    def at(self, index: int) -> int:
        """The offset in the block's text of a character of the decoded text."""
        return self.origins[index] if self.origins is not None else self.start + index

    @property
    def path(self) -> str | None:
        """Its JSON path; of JSON in a string the path of the string."""
        if self.outer is not None:
            return self.outer.path
        return self.branch.below(self.key, self.position) if self.branch is not None else None


def read_leaves(text: str) -> tuple[list[Leaf], list[Branch]]:
    """The leaves of a text that is JSON or begins like it, and its objects and lists; other text is one prose leaf.

    What follows the JSON, and what stops being JSON, is prose.
    """
    body = len(text) - len(text.lstrip())
    if text[body : body + 1] not in ("{", "["):
        return [Leaf(kind="prose", text=text, start=0, end=len(text))], []
    reader = _Reader(text)
    end = reader.read(body)
    if end < len(text) and text[end:].strip():
        reader.leaves.append(Leaf(kind="prose", text=text[end:], start=end, end=len(text)))
    return reader.leaves, reader.branches


class _Reader:
    """One pass over the tokens; it stops where they are no longer JSON."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.leaves: list[Leaf] = []
        self.branches: list[Branch] = []
        self.stack: list[Branch] = []
        self.key = ""

    def read(self, at: int) -> int:
        """Read from an offset on; returns where it stopped."""
        match_token = _TOKEN.match
        while (token := match_token(self.text, at)) is not None:
            kind = token.lastgroup
            if kind == "mark":
                if not self._mark(self.text[token.end() - 1]):
                    return at
            elif not self.stack:
                return at
            elif kind == "colon":
                self._open_member(*token.span("text"))
            elif kind == "text":
                start, end = token.span("text")
                self._text(start + 1, end - 1)
            elif kind == "number":
                self._number(*token.span("number"))
            elif kind == "word":
                self._word(*token.span("word"))
            else:  # a string that was cut
                self._text(token.end(), len(self.text))
                return len(self.text)
            at = token.end()
        return at

    def _mark(self, mark: str) -> bool:
        if mark in "{[":
            return self._open_branch(is_list=mark == "[")
        if not self.stack or self.stack[-1].is_list != (mark == "]"):
            return False
        self.stack.pop()
        return True

    def _open_branch(self, *, is_list: bool) -> bool:
        if len(self.stack) >= DEPTH:
            return False
        path: str | None = "$"
        key, parent = "", None
        if self.stack:
            parent = self.stack[-1]
            key = parent.key if parent.is_list else self.key
            path = parent.below(key, parent.size)
            parent.size += 1
        branch = Branch(is_list=is_list, path=path, key=key, parent=parent)
        self.stack.append(branch)
        self.branches.append(branch)
        return True

    def _open_member(self, start: int, end: int) -> None:
        raw = self.text[start + 1 : end - 1]
        self.key = _decode(raw, 0)[0] if "\\" in raw else raw
        if _DIGIT.search(raw) is not None:
            leaf = self._leaf("key", start + 1, end - 1)
            leaf.key = self.key
            self.leaves.append(leaf)

    def _leaf(self, kind: str, start: int, end: int) -> Leaf:
        raw, origins = self.text[start:end], None
        if kind != "number" and "\\" in raw:
            raw, origins = _decode(raw, start)
        top = self.stack[-1]
        return Leaf(
            kind=kind,
            text=raw,
            start=start,
            end=end,
            key=top.key if top.is_list else self.key,
            branch=top,
            position=top.size,
            origins=origins,
        )

    def _number(self, start: int, end: int) -> None:
        self.leaves.append(self._leaf("number", start, end))
        self.stack[-1].size += 1

    def _text(self, start: int, end: int) -> None:
        leaf = self._leaf("text", start, end)
        self.leaves.append(leaf)
        top = self.stack[-1]
        top.size += 1
        if top.is_list:
            return
        if len(leaf.text) <= _LONGEST_KEY:
            top.texts.append(leaf.text)
            if leaf.key.lower() in ("unit", "units", "currency"):
                top.unit = leaf.text
        self._count(leaf.text)

    def _word(self, start: int, end: int) -> None:
        self.leaves.append(self._leaf("word", start, end))
        self.stack[-1].size += 1
        self._count(self.text[start:end])

    def _count(self, value: str) -> None:
        top = self.stack[-1]
        if top.parent is not None and not top.is_list and len(value) <= _LONGEST_SCALAR:
            tally = (self.key, value)
            top.parent.tallies[tally] = top.parent.tallies.get(tally, 0) + 1


def _decode(raw: str, start: int) -> tuple[str, list[int]]:
    """A JSON string's text and the offset each of its characters came from, with the end's offset last."""
    pieces: list[str] = []
    origins: list[int] = []
    at = 0
    high = ""
    for escape in _ESCAPE.finditer(raw):
        begin, end = escape.span()
        if begin > at:
            high = ""
            pieces.append(raw[at:begin])
            origins.extend(range(start + at, start + begin))
        at = end
        code, simple = escape.groups()
        character = chr(int(code, 16)) if code is not None else _SIMPLE.get(simple, simple)
        if high and "\udc00" <= character <= "\udfff":  # the second half of a character beyond the first plane
            pieces[-1] = chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(character) - 0xDC00))
            high = ""
            continue
        high = character if "\ud800" <= character <= "\udbff" else ""
        pieces.append(character)
        origins.append(start + begin)
    pieces.append(raw[at:])
    origins.extend(range(start + at, start + len(raw)))
    origins.append(start + len(raw))
    return "".join(pieces), origins
