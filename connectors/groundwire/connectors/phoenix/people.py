"""What people said in Phoenix: annotations of the kind HUMAN on traces and spans."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from groundwire.connectors.base import Annotation
from groundwire.connectors.formats.spans import moment, nonempty
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.connectors.phoenix.wire import Wire

__all__ = ["PhoenixAnnotations"]

_TARGETS = 50
"""Traces or spans in one request, so that its address stays short."""
_PAGE = 1_000
_TRACE_ID = 32
"""Digits of a trace's id; a span's has 16."""


class PhoenixAnnotations:
    """The annotations that people made of some traces and spans."""

    def __init__(self, settings: PhoenixSettings, *, wire: Wire | None = None) -> None:
        self._wire = wire or Wire(settings)

    async def annotations(self, name: str, *, since: datetime, among: Sequence[str]) -> AsyncIterator[Annotation]:
        """See `Annotations.annotations`; they are looked up by target, for they can't be searched by name."""
        known = list(dict.fromkeys(among))
        for kind, targets in (
            ("trace", [one for one in known if len(one) == _TRACE_ID]),
            ("span", [one for one in known if len(one) != _TRACE_ID]),
        ):
            for at in range(0, len(targets), _TARGETS):
                found = [
                    (made, annotation)
                    async for record in self._records(kind, name, targets[at : at + _TARGETS])
                    if (made := moment(record.get("updated_at"))) is not None
                    and made >= since
                    and (annotation := _annotation(record)) is not None
                ]
                for _, annotation in sorted(found, key=lambda one: one[0], reverse=True):
                    yield annotation

    async def close(self) -> None:
        """See `Annotations.close`."""
        await self._wire.close()

    async def _records(self, kind: str, name: str, targets: Sequence[str]) -> AsyncIterator[Mapping[str, Any]]:
        path = await self._wire.project_path(f"{kind}_annotations")
        params: dict[str, Any] = {f"{kind}_ids": targets, "include_annotation_names": [name], "limit": _PAGE}
        while True:
            answer = await self._wire.get(path, params, what="people's annotations", accept=frozenset({404}))
            body = answer.body if answer.ok and isinstance(answer.body, Mapping) else {}
            listed = body.get("data")
            for record in listed if isinstance(listed, list) else ():
                if isinstance(record, Mapping):
                    yield record
            cursor = body.get("next_cursor")
            if not isinstance(cursor, str) or not cursor:
                return
            params["cursor"] = cursor


def _annotation(record: Mapping[str, Any]) -> Annotation | None:
    """What a person said; None for a model's or a program's word. A score counts before a label."""
    result = record.get("result")
    if record.get("annotator_kind") != "HUMAN" or not isinstance(result, Mapping):
        return None
    value = result.get("score") if result.get("score") is not None else result.get("label")
    if not isinstance(value, (str, int, float)):
        return None
    metadata = record.get("metadata")
    labeller = metadata.get("labeller") if isinstance(metadata, Mapping) else None
    return Annotation(
        trace_id=nonempty(record.get("trace_id")) or "",
        span_id=nonempty(record.get("span_id")),
        value=value,
        comment=nonempty(result.get("explanation")) or "",
        author=nonempty(labeller) or nonempty(record.get("user_id")) or "",
    )
