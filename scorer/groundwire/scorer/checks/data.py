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

_TOKEN = re.compile(
    r"\s*+(?:"
    r'(?P<text>"(?:[^"\\]++|\\.)*+"|\'(?:[^\'\\]++|\\.)*+\')'
    r"|(?P<number>-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?)"
    r"|(?P<word>true|false|null|NaN|-?Infinity|True|False|None)\b"
    r"|(?P<mark>[{}\[\],:])"
    r"|(?P<open>[\"'])"
    r")",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass
class Branch:
    """An object or a list of the data, while and after it is read."""

    is_list: bool
    path: str | None
    key: str
    parent: "Branch | None"
    size: int = 0
    """Elements or members so far."""
    tallies: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many of its objects have a given value under a given key."""
    unit: str = ""
    """What a member named `unit` or `currency` says."""
    texts: list[str] = field(default_factory=list)
    """Its short texts and its own name: what the object is called."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that name this object."""
        return frozenset(word for text in (*self.texts, self.key) for word in name_words(text) if len(word) > 2)


@dataclass(slots=True)
class Leaf:
    """A scalar of the data, or a key that may itself be a value, or a piece of prose."""

    kind: str
    """`text`, `number`, `word`, `key` or `prose`."""
    text: str
    """Decoded."""
    start: int
    """Offset of its first character in the block's text, quotation marks left out."""
    end: int
    path: str | None = None
    key: str = ""
    """The key it stands under; of a list's element the list's key."""
    branch: Branch | None = None
    origins: list[int] | None = None
    """Of a text with escapes: the offset that each decoded character came from, and the end."""

    def at(self, index: int) -> int:
        """The offset in the block's text of a character of the decoded text."""
        return self.origins[index] if self.origins is not None else self.start + index


def read_leaves(text: str) -> tuple[list[Leaf], list[Branch]]:
    """The leaves of a text that is JSON or begins like it, and its objects and lists; other text is one prose leaf."""
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
        self.key: str | None = None

    def read(self, at: int) -> int:
        """Read from an offset on; returns where it stopped."""
        while (token := _TOKEN.match(self.text, at)) is not None:
            kind = token.lastgroup or ""
            start, end = token.span(kind)
            if kind == "mark":
                if not self._mark(self.text[start], start):
                    return at
            elif not self.stack:
                return at
            elif kind == "open":  # a string that was cut
                leaf = self._leaf("text", start + 1, len(self.text))
                self.leaves.append(leaf)
                return len(self.text)
            else:
                self._scalar(kind, start, end)
            at = end
            if not self.stack:
                self.key = None
        return at

    def _mark(self, mark: str, start: int) -> bool:
        match mark:
            case "{" | "[":
                if len(self.stack) >= DEPTH:
                    return False
                parent = self.stack[-1] if self.stack else None
                branch = Branch(
                    is_list=mark == "[",
                    path=self._path(),
                    key=(self.key if self.key is not None else parent.key) if parent is not None else "",
                    parent=parent,
                )
                if parent is not None:
                    parent.size += 1
                self.key = None
                self.stack.append(branch)
                self.branches.append(branch)
            case "}" | "]":
                if not self.stack or self.stack[-1].is_list != (mark == "]"):
                    return False
                self.stack.pop()
                self.key = None
            case ",":
                self.key = None
            case _:
                return start > 0 and self.key is not None
        return True

    def _scalar(self, kind: str, start: int, end: int) -> None:
        top = self.stack[-1]
        inner = (start + 1, end - 1) if kind == "text" else (start, end)
        if not top.is_list and self.key is None:
            leaf = self._leaf(kind, *inner)
            self.key = leaf.text
            if any(character.isdigit() for character in leaf.text):
                leaf.kind = "key"
                leaf.path = self._path()
                self.leaves.append(leaf)
            return
        leaf = self._leaf(kind, *inner)
        top.size += 1
        self.leaves.append(leaf)
        if kind == "text" and self.key is not None and self.key.lower() in {"unit", "units", "currency"}:
            top.unit = leaf.text
        if kind == "text" and len(leaf.text) <= _LONGEST_KEY and not top.is_list:
            top.texts.append(leaf.text)
        if kind != "number" and len(leaf.text) <= _LONGEST_SCALAR and top.parent is not None and not top.is_list:
            tally = (leaf.key, leaf.text)
            top.parent.tallies[tally] = top.parent.tallies.get(tally, 0) + 1

    def _leaf(self, kind: str, start: int, end: int) -> Leaf:
        raw = self.text[start:end]
        decoded, origins = _decode(raw, start) if kind == "text" and "\\" in raw else (raw, None)
        top = self.stack[-1]
        return Leaf(
            kind=kind,
            text=decoded,
            start=start,
            end=end,
            path=self._path(),
            key=self.key if self.key is not None else top.key,
            branch=top,
            origins=origins,
        )

    def _path(self) -> str | None:
        if not self.stack:
            return "$"
        top = self.stack[-1]
        if top.path is None:
            return None
        if top.is_list:
            return f"{top.path}[{top.size}]"
        if self.key is None:
            return top.path
        if len(self.key) > _LONGEST_KEY:
            return None
        if _NAME.match(self.key):
            return f"{top.path}.{self.key}"
        escaped = self.key.replace("\\", "\\\\").replace("'", "\\'")
        return f"{top.path}['{escaped}']"


def _decode(raw: str, start: int) -> tuple[str, list[int]]:
    """A JSON string's text and the offset each of its characters came from, with the end's offset last."""
    pieces: list[str] = []
    origins: list[int] = []
    at = 0
    for escape in _ESCAPE.finditer(raw):
        begin, end = escape.span()
        pieces.append(raw[at:begin])
        origins.extend(range(start + at, start + begin))
        code, simple = escape.groups()
        if code is not None:
            character = chr(int(code, 16))
            if pieces and "\udc00" <= character <= "\udfff" and begin == at and "\ud800" <= pieces[-2] <= "\udbff":
                high = ord(pieces[-2])
                pieces[-2:] = [chr(0x10000 + ((high - 0xD800) << 10) + (ord(character) - 0xDC00))]
                at = end
                continue
        else:
            character = _SIMPLE.get(simple, simple)
        pieces.append(character)
        origins.append(start + begin)
        at = end
    pieces.append(raw[at:])
    origins.extend(range(start + at, start + len(raw)))
    origins.append(start + len(raw))
    return "".join(pieces), origins
