"""Attributes whose names are paths (`llm.input_messages.0.message.content`) put back into objects and lists."""

from collections.abc import Mapping
from typing import Any

__all__ = ["unflattened"]

_MAX_SEGMENTS = 24
_MAX_DIGITS = 6


def unflattened(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Nest dotted names; an object whose names are all numbers becomes a list in their order.

    A name that is both a value and a prefix of others keeps its value under the empty name.
    """
    tree: dict[str, Any] = {}
    for name, value in attributes.items():
        segments = str(name).split(".")
        if len(segments) > _MAX_SEGMENTS:
            segments = [str(name)]
        node = tree
        for segment in segments[:-1]:
            inner = node.get(segment)
            if not isinstance(inner, _Node):
                inner = _Node() if inner is None else _Node({"": inner})
                node[segment] = inner
            node = inner
        last = segments[-1]
        if isinstance(node.get(last), _Node):
            node[last][""] = value
        else:
            node[last] = value
    return {key: _closed(value) for key, value in tree.items()}


class _Node(dict[str, Any]):
    """A level that was made from a path and not sent as an object."""


def _closed(value: Any) -> Any:
    if isinstance(value, list):
        return [unflattened(item) if _is_flat(item) else item for item in value]
    if not isinstance(value, _Node):
        return unflattened(value) if _is_flat(value) else value
    closed = {key: _closed(item) for key, item in value.items()}
    if closed and all(key.isdecimal() and key.isascii() and len(key) <= _MAX_DIGITS for key in closed):
        return [closed[key] for key in sorted(closed, key=int)]
    return closed


def _is_flat(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(key, str) and "." in key for key in value)
