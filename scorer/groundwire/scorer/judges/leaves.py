"""The values of JSON evidence, with the codes that identify the record each stands in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from groundwire.scorer.checks.data import Branch, read_leaves
from groundwire.scorer.checks.data import Leaf as RawLeaf
from groundwire.scorer.evidence import Shown, View
from groundwire.scorer.judges.windows import words

__all__ = ["Leaf", "failed", "leaves"]

_CODE = re.compile(r"(?=\S*\d)[\w#-]{3,}")
_PLAIN_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ERROR_TEXT = re.compile(
    r"\s*(?:error|exception|traceback|failed|failure|fatal|unauthori[sz]ed|forbidden)\b\s*(?:[:!(\[-]|$)", re.IGNORECASE
)
_FAILED_MEMBER = re.compile(
    r'^\{[^{}\[\]]{0,200}"(?:success|ok|succeeded)"\s*:\s*false|^\{\s*"(?:status|result)"\s*:\s*"(?:error|failed|failure|denied|rejected)"',
    re.IGNORECASE,
)
_MOST = 5_000


@dataclass(frozen=True)
class Leaf:
    """One scalar of a block that is JSON."""

    shown: Shown
    path: str | None
    """`$.flights[2].price`."""
    key: str
    """The nearest member name, as written; empty at the top."""
    text: str
    """The value, decoded, without quotation marks."""
    quote: str
    """The member as the block writes it."""
    is_string: bool
    codes: frozenset[str]
    """The identifying codes beside the value or above it, case-folded: they say which record it belongs to."""

    @cached_property
    def key_words(self) -> tuple[str, ...]:
        """The words of the member name."""
        return tuple(words(self.key.replace("_", " ")))


def failed(shown: Shown) -> bool:
    """Whether a tool failed: it is marked so, or its result says nothing but an error."""
    if shown.block.failed:
        return True
    return shown.block.kind == "tool" and bool(
        _ERROR_TEXT.match(shown.text) or _FAILED_MEMBER.match(shown.text.lstrip())
    )


def leaves(view: View) -> tuple[Leaf, ...]:
    """Every scalar of the blocks that are JSON, cut JSON too, and no failure; at most 5,000 of them."""
    found: list[Leaf] = []
    for shown in view.shown:
        if not failed(shown):
            for leaf in _of(shown):
                found.append(leaf)
                if len(found) >= _MOST:
                    return tuple(found)
    return tuple(found)


def _of(shown: Shown) -> Iterator[Leaf]:
    raw, _ = read_leaves(shown.text)
    own: dict[int, set[str]] = {}
    for leaf in raw:
        if (
            leaf.branch is not None
            and leaf.kind in {"text", "key"}
            and _CODE.fullmatch(leaf.text)
            and not _PLAIN_DATE.match(leaf.text)
        ):
            own.setdefault(id(leaf.branch), set()).add(leaf.text.casefold())
    for leaf in raw:
        if leaf.kind in {"text", "number", "word"}:
            yield Leaf(
                shown=shown,
                path=leaf.path,
                key=leaf.key,
                text="" if leaf.text in {"null", "None"} and leaf.kind == "word" else leaf.text,
                quote=_quote(shown.text, leaf),
                is_string=leaf.kind == "text",
                codes=frozenset(code for branch in _above(leaf.branch) for code in own.get(id(branch), ())),
            )


def _above(branch: Branch | None) -> Iterator[Branch]:
    while branch is not None:
        yield branch
        branch = branch.parent


def _quote(text: str, leaf: RawLeaf) -> str:
    """The member with its name, as written, if the name stands right before it."""
    end = leaf.end + 1 if leaf.kind == "text" and text[leaf.end : leaf.end + 1] in {'"', "'"} else leaf.end
    before = text[max(0, leaf.start - 100) : leaf.start]
    name = re.search(r"[\"'][^\"'{}\[\],]{1,80}[\"']\s*:\s*[\"']?$", before)
    return text[leaf.start - len(name.group(0)) : end] if name else text[leaf.start : leaf.end]
