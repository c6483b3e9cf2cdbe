"""What people said in LangSmith: feedback of the application's users and reviewers, and corrections of scores."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from groundwire.connectors.base import Annotation
from groundwire.connectors.formats.spans import moment, nonempty
from groundwire.connectors.langsmith.settings import LangsmithSettings
from groundwire.connectors.langsmith.wire import Wire

__all__ = ["LangsmithAnnotations"]

_RUNS = 50
"""Runs in one request, so that its address stays short."""
_PAGE = 100
_MACHINES = ("model", "auto_eval")
"""Sources of feedback that are no people."""


class LangsmithAnnotations:
    """The feedback that people gave on some runs."""

    def __init__(self, settings: LangsmithSettings, *, wire: Wire | None = None) -> None:
        self._wire = wire or Wire(settings)

    async def annotations(self, name: str, *, since: datetime, among: Sequence[str]) -> AsyncIterator[Annotation]:
        """See `Annotations.annotations`; feedback is looked up run by run, for it can't be searched by key."""
        runs = iter(dict.fromkeys(among))
        while some := list(islice(runs, _RUNS)):
            offset = 0
            while True:
                answer = await self._wire.get(
                    "/feedback",
                    {"run": some, "key": name, "limit": _PAGE, "offset": offset},
                    what="people's feedback",
                )
                page = answer.body if isinstance(answer.body, list) else []
                for record in page:
                    found = _annotation(record, since) if isinstance(record, Mapping) else None
                    if found is not None:
                        yield found
                if len(page) < _PAGE:
                    break
                offset += _PAGE

    async def close(self) -> None:
        """See `Annotations.close`."""
        await self._wire.close()


def _annotation(record: Mapping[str, Any], since: datetime) -> Annotation | None:
    made = moment(record.get("modified_at")) or moment(record.get("created_at"))
    if made is not None and made < since:
        return None
    source = record.get("feedback_source")
    source = source if isinstance(source, Mapping) else {}
    value = _corrected(record.get("correction"))
    if value is None and (source.get("type") not in _MACHINES or _for_a_person(record)):
        value = record.get("score") if record.get("score") is not None else record.get("value")
    if not isinstance(value, (str, int, float)):
        return None
    run_id = nonempty(record.get("run_id")) or ""
    return Annotation(
        trace_id=nonempty(record.get("trace_id")) or run_id,
        span_id=run_id,
        value=value,
        comment=nonempty(record.get("comment")) or "",
        author=nonempty(source.get("user_name")) or "",
    )


def _corrected(correction: Any) -> Any:
    """What a reviewer put in the place of a score: `{"score": …}`, `{"value": …}`, or the value itself."""
    if not isinstance(correction, Mapping):
        return correction
    return next((correction[name] for name in ("score", "value", "label") if correction.get(name) is not None), None)


def _for_a_person(record: Mapping[str, Any]) -> bool:
    """Whether groundwire wrote it for a person who labelled in a terminal."""
    extra = record.get("extra")
    return isinstance(extra, Mapping) and "labeller" in extra
