"""What people said in Langfuse: annotation scores and scores sent for them, by name."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from groundwire.connectors.base import Annotation
from groundwire.connectors.formats.spans import nonempty
from groundwire.connectors.langfuse.generation import Server
from groundwire.connectors.langfuse.settings import LangfuseSettings
from groundwire.connectors.langfuse.wire import Wire, iso
from groundwire.scorer import GiveUp

__all__ = ["LangfuseAnnotations"]

_PAGE = 100
"""Most scores in one answer; more is refused."""


class LangfuseAnnotations:
    """The scores of a project that people gave."""

    def __init__(self, settings: LangfuseSettings, *, wire: Wire | None = None) -> None:
        self._wire = wire or Wire(settings)
        self._server = Server(self._wire)

    async def annotations(self, name: str, *, since: datetime, among: Sequence[str]) -> AsyncIterator[Annotation]:
        """See `Annotations.annotations`; they are searched by name and the scores' own time."""
        del among  # a search by name finds them all
        if (await self._server.generation()).scores == "v2":
            raise GiveUp("this Langfuse server gives scores by id only; label in a file, or upgrade to 3.179 or later")
        params: dict[str, str | int] = {
            "name": name,
            "source": "ANNOTATION,API",
            "fields": "details,subject",
            "fromTimestamp": iso(since),
            "limit": _PAGE,
        }
        while True:
            answer = await self._wire.get("/v3/scores", params, what="people's scores")
            body = answer.body if isinstance(answer.body, Mapping) else {}
            for record in body.get("data") or []:
                found = _annotation(record) if isinstance(record, Mapping) else None
                if found is not None:
                    yield found
            meta = body.get("meta")
            cursor = meta.get("cursor") if isinstance(meta, Mapping) else None
            if not isinstance(cursor, str) or not cursor:
                return
            params["cursor"] = cursor

    async def close(self) -> None:
        """See `Annotations.close`."""
        await self._wire.close()


def _annotation(record: Mapping[str, Any]) -> Annotation | None:
    metadata, subject, value = record.get("metadata"), record.get("subject"), record.get("value")
    if isinstance(metadata, Mapping) and "config_fingerprint" in metadata:
        return None  # a judge's
    if not isinstance(subject, Mapping) or not isinstance(value, (str, int, float)):
        return None
    kind, ident = subject.get("kind"), nonempty(subject.get("id")) or ""
    comment, author = nonempty(record.get("comment")) or "", nonempty(record.get("authorUserId")) or ""
    match kind:
        case "trace":
            return Annotation(trace_id=ident, value=value, comment=comment, author=author)
        case "observation":
            trace_id = nonempty(subject.get("traceId")) or ""
            return Annotation(trace_id=trace_id, span_id=ident, value=value, comment=comment, author=author)
        case "session":
            return Annotation(session_id=ident, value=value, comment=comment, author=author)
        case _:
            return None
