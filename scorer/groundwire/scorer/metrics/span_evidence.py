"""The evidence of the SPAN path: the tool responses in one model call's own input, each string leaf bounded."""

from collections.abc import Iterable
from typing import Any

from groundwire.scorer.evidence import Block, Limits, Shown, View, cut, fit
from groundwire.scorer.metrics.reading import compact, decoded, was_error
from groundwire.scorer.partition import ToolCallResponsePart

__all__ = ["view_of_responses"]


def view_of_responses(
    parts: Iterable[ToolCallResponsePart], *, span_id: str, max_leaf: int, max_total: int, media: int = 0
) -> View:
    """One block a response: JSON in a string is decoded, then each string leaf is cut to `max_leaf` characters.

    Where all of them together pass `max_total` characters, they share it by water-filling.
    """
    shown = []
    for index, part in enumerate(parts, start=1):
        value = decoded(part.response)
        text, gone = _bounded(value, max_leaf)
        block = Block(
            name=f"E{index}",
            kind="tool",
            text=compact(value),
            span_id=span_id,
            tool_name=part.name,
            failed=part.failed or was_error(value),
        )
        shown.append(Shown(block=block, text=compact(text), cut=gone))
    if sum(len(item.text) for item in shown) <= max_total:
        return View(shown=tuple(shown), media=media)
    limits = Limits(response=max_total, arguments=1, total=max_total)
    blocks = [Block(name=item.block.name, kind="tool", text=item.text) for item in shown]
    refit = fit(blocks, limits)
    return View(
        shown=tuple(
            Shown(block=item.block, text=less.text, cut=item.cut + less.cut)
            for item, less in zip(shown, refit.shown, strict=True)
        ),
        media=media,
    )


def _bounded(value: Any, max_leaf: int) -> tuple[Any, int]:
    """The value with each string leaf cut, and how many characters went."""
    if isinstance(value, str):
        return cut(value, max_leaf)
    if isinstance(value, list):
        pairs = [_bounded(item, max_leaf) for item in value]
        return [item for item, _ in pairs], sum(gone for _, gone in pairs)
    if isinstance(value, dict):
        bounded = {key: _bounded(item, max_leaf) for key, item in value.items()}
        return {key: item for key, (item, _) in bounded.items()}, sum(gone for _, gone in bounded.values())
    return value, 0
