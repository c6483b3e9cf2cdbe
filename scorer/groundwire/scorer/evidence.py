"""What an answer may rest on: numbered blocks, and the view of them that fits a judge's limits.

`E1…` are tool results in time order, `U1…` what the user said, `S1…` what the system prompt or the caller provided.
Blocks hold the whole text; `fit` makes the `View` a judge is shown, marks every cut and counts it in `Coverage`.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Block",
    "BlockCoverage",
    "BlockKind",
    "Coverage",
    "Limits",
    "Shown",
    "View",
    "content_hash",
    "cut",
    "fit",
    "mark",
    "share",
]

BlockKind = Literal["tool", "user", "provided"]
"""`tool` blocks are named E, `user` blocks U, `provided` ones (system prompt, caller's context) S."""

GIVEN_CHARACTERS = 4_000
"""What the U and S blocks share among themselves, in characters."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One piece of evidence, whole."""

    name: str
    """`E1`, `U1`, `S1`, …"""
    kind: BlockKind
    text: str
    """The untruncated text. A tool's structured result is compact JSON with raw Unicode."""
    span_id: str | None = None
    tool_name: str | None = None
    arguments: str = ""
    """The call's arguments as JSON: they say what was asked for and are no evidence of a result."""
    failed: bool = False
    """A failed tool is evidence about its failure and of nothing else."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A block as the judge sees it."""

    block: Block
    text: str
    arguments: str = ""
    cut: int = 0
    """Characters of the block's text that are not shown."""
    arguments_cut: int = 0
    """Characters of the block's arguments that are not shown."""


@dataclass(frozen=True, kw_only=True)
class View:
    """The evidence of one judge call."""

    shown: tuple[Shown, ...] = ()
    media: int = 0
    """Images, sounds and files that stood in the messages and that no judge here looks at."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The whole blocks behind what is shown."""
        return tuple(shown.block for shown in self.shown)

    def find(self, name: str) -> Shown | None:
        """The shown block of that name."""
        return next((shown for shown in self.shown if shown.block.name == name), None)

    @property
    def coverage(self) -> "Coverage":
        """What of the evidence this view shows."""
        return Coverage(
            blocks=tuple(
                BlockCoverage(
                    block=shown.block.name,
                    span_id=shown.block.span_id,
                    shown=len(shown.block.text) - shown.cut,
                    total=len(shown.block.text),
                )
                for shown in self.shown
            ),
            media_not_checked=self.media,
        )


class BlockCoverage(BaseModel):
    """How much of one block the judge saw, in characters."""

    model_config = ConfigDict(frozen=True)

    block: str
    span_id: str | None = None
    shown: int = Field(ge=0)
    total: int = Field(ge=0)


class Coverage(BaseModel):
    """What the judge saw of the evidence: it stands in every row."""

    model_config = ConfigDict(frozen=True)

    blocks: tuple[BlockCoverage, ...] = ()
    media_not_checked: int = Field(default=0, ge=0)

    @property
    def shown(self) -> int:
        """Characters shown, over all blocks."""
        return sum(block.shown for block in self.blocks)

    @property
    def total(self) -> int:
        """Characters there were, over all blocks."""
        return sum(block.total for block in self.blocks)

    @property
    def share(self) -> float:
        """Shown over total, in [0, 1]; 1.0 where there was nothing to show."""
        return self.shown / self.total if self.total else 1.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The truncation limits of a view, in characters; they define the score."""

    response: int = 2_000
    """Most kept of one block's text."""
    arguments: int = 500
    """Most kept of one block's arguments."""
    total: int = 8_000
    """Most kept of all E blocks together, text and arguments."""
    given: int = GIVEN_CHARACTERS
    """Most kept of all U and S blocks together."""


def share(sizes: Sequence[int], total: int) -> list[int]:
    """Water-filling: the short stay whole, the long are levelled.

    Each share is ≤ its size, the sum is ≤ `total` and equals `min(sum(sizes), total)`.
    """
    given = [0] * len(sizes)
    left = max(total, 0)
    by_size = sorted(range(len(sizes)), key=lambda index: sizes[index])
    for position, index in enumerate(by_size):
        level = left // (len(by_size) - position)
        given[index] = min(sizes[index], level)
        left -= given[index]
    for index in reversed(by_size):  # what the integer division left over goes to the longest
        more = min(left, sizes[index] - given[index])
        given[index] += more
        left -= more
    return given


def cut(text: str, limit: int) -> tuple[str, int]:
    """Shorten `text` to at most `limit` characters, the mark included; returns it and how many characters went.

    The mark names the number of characters that went. Where the limit is too small for a mark, the text is cut bare.
    """
    if len(text) <= limit:
        return text, 0
    for digits in range(1, 16):
        mark_size = len(mark(10**digits - 1))
        gone = len(text) - (limit - mark_size)
        if limit > mark_size and len(str(gone)) <= digits:
            return text[: limit - mark_size] + mark(gone).rjust(mark_size), gone
    return text[: max(limit, 0)], len(text) - max(limit, 0)


def mark(gone: int) -> str:
    """What stands where `gone` characters were cut."""
    return f" […{gone} characters cut]"


def fit(blocks: Iterable[Block], limits: Limits, *, media: int = 0) -> View:
    """Show the head of each block within the limits (policy `head`)."""
    ordered = tuple(blocks)
    shown: dict[str, Shown] = {}
    tools = [block for block in ordered if block.kind == "tool"]
    wanted = [min(len(block.text), limits.response) + min(len(block.arguments), limits.arguments) for block in tools]
    for block, room in zip(tools, share(wanted, limits.total), strict=True):
        text_room, arguments_room = share(
            [min(len(block.text), limits.response), min(len(block.arguments), limits.arguments)], room
        )
        shown[block.name] = _show(block, text_room, arguments_room)
    given = [block for block in ordered if block.kind != "tool"]
    for block, room in zip(given, share([len(block.text) for block in given], limits.given), strict=True):
        shown[block.name] = _show(block, room, 0)
    return View(shown=tuple(shown[block.name] for block in ordered), media=media)


def _show(block: Block, text_room: int, arguments_room: int) -> Shown:
    text, text_cut = cut(block.text, text_room)
    arguments, arguments_cut = cut(block.arguments, arguments_room)
    return Shown(block=block, text=text, arguments=arguments, cut=text_cut, arguments_cut=arguments_cut)


def content_hash(question: str, answer: str, blocks: Iterable[Block]) -> str:
    """The identity of what is judged: question, answer, evidence texts and tool statuses, untruncated.

    Usage, cost, names and times are no part of it. 64 hex digits (SHA-256).
    """
    digest = hashlib.sha256()
    for piece in (question, answer):
        digest.update(_framed(piece))
    for block in blocks:
        digest.update(_framed(f"{block.kind}:{block.failed}"))
        digest.update(_framed(block.text))
    return digest.hexdigest()


def _framed(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "big") + data
