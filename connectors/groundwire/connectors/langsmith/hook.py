"""A LangSmith rule's webhook: the traces that its delivery speaks of."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import JsonValue

from groundwire.connectors.base import Origin
from groundwire.connectors.formats.spans import moment
from groundwire.connectors.langsmith.settings import LangsmithSettings
from groundwire.scorer import SkipThis

__all__ = ["LangsmithHook"]

_TRACES_OF_THREAD = ("runs", "traces", "trace_ids", "last_trace_id", "first_trace_id")
"""Where an entry of `threads` may name its traces; its shape isn't documented."""


class LangsmithHook:
    """Reads what a rule sends. The runs themselves are read through the API: a delivery holds no children, and may
    leave inputs and outputs out."""

    def __init__(self, settings: LangsmithSettings) -> None:
        self._settings = settings

    def receive(self, headers: Mapping[str, str], body: bytes) -> Sequence[Origin]:  # noqa: ARG002 - the protocol's signature
        """See `Hook.receive`. A run stands for its trace; each trace comes once, with its root's times if it has them.

        A thread that names no trace is an origin of its own id, with the hint `session`. Fields that nobody knows
        change nothing; an entry without an id is passed over.
        """
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            raise SkipThis("the delivery is no JSON that can be read") from None
        if not isinstance(content, Mapping):
            raise SkipThis("the delivery is no JSON object")
        listed = [content[key] for key in ("runs", "threads") if isinstance(content.get(key), list)]
        if not listed:
            raise SkipThis("the delivery has neither `runs` nor `threads`; is it a rule's webhook?")
        found: dict[str, Origin] = {}
        for origin in (*_of_runs(content.get("runs")), *_of_threads(content.get("threads"))):
            known = found.get(origin.trace_id)
            if known is None or (known.end_time is None and origin.end_time is not None):
                found[origin.trace_id] = origin
        if any(listed) and not found:
            raise SkipThis("no entry of the delivery bears an id of a run, a trace or a thread")
        return list(found.values())


def _of_runs(runs: Any) -> Iterator[Origin]:
    for run in runs if isinstance(runs, list) else ():
        origin = _of_run(run)
        if origin is not None:
            yield origin


def _of_threads(threads: Any) -> Iterator[Origin]:
    for thread in threads if isinstance(threads, list) else ():
        yield from _of_thread(thread)


def _of_run(run: Any) -> Origin | None:
    """The trace of a run; only the root's own times are the trace's."""
    if not isinstance(run, Mapping):
        return None
    run_id, trace_id = _uuid(run.get("id")), _uuid(run.get("trace_id"))
    trace_id = trace_id or run_id
    if trace_id is None:
        return None
    is_root = run_id == trace_id or run.get("is_root") is True
    hints: dict[str, JsonValue] = {}
    if (project := _uuid(run.get("session_id"))) is not None:
        hints["project"] = project
    return Origin(
        trace_id=trace_id,
        start_time=_time(run.get("start_time")) if is_root else None,
        end_time=_time(run.get("end_time")) if is_root else None,
        hints=hints,
    )


def _of_thread(thread: Any) -> Iterator[Origin]:
    """The traces that a thread names; else the thread itself."""
    if isinstance(thread, str):
        thread = {"thread_id": thread}
    if not isinstance(thread, Mapping):
        return
    named = list(_named(thread))
    thread_id = thread.get("thread_id") or thread.get("id")
    if named:
        yield from named
    elif isinstance(thread_id, str) and 0 < len(thread_id) <= 500:
        yield Origin(trace_id=thread_id, hints={"session": thread_id})


def _named(thread: Mapping[str, Any]) -> Iterator[Origin]:
    for key in _TRACES_OF_THREAD:
        value = thread.get(key)
        entries: Iterable[Any] = value if isinstance(value, list) else [value]
        for entry in entries:
            if isinstance(entry, Mapping):
                origin = _of_run(entry)
                if origin is not None:
                    yield origin
            elif (trace_id := _uuid(entry)) is not None:
                yield Origin(trace_id=trace_id)


def _time(value: Any) -> datetime | None:
    """A time of this century, UTC where it names no zone; anything else is no time of a run."""
    found = moment(value)
    return found if found is not None and 2000 < found.year < 2100 else None


def _uuid(value: Any) -> str | None:
    """An id in its canonical form; None for anything else."""
    try:
        return str(UUID(value)) if isinstance(value, str) else None
    except ValueError:
        return None
