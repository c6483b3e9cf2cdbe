"""One score as LangSmith takes it: a feedback written at once, whose trace keeps its retention unless asked."""

import json
import math
from collections.abc import Mapping
from typing import Any

from groundwire.connectors.langsmith.wire import iso
from groundwire.connectors.score import Score

__all__ = ["DECIMALS", "Unsendable", "bounded", "feedback_of", "update_of"]

DECIMALS = 4
"""The API refuses a score with more."""
_COMMENT = 4_000
_EXTRA = 32_000
"""Bytes of `extra` as JSON; LangSmith's own limit isn't documented."""
_LONGEST_VALUE = 1_000


class Unsendable(ValueError):  # noqa: N818 - it names the score's fault
    """A score that the server would refuse; the message says why."""


def feedback_of(score: Score, *, project_id: str, extend_retention: bool, mark_errors: bool) -> dict[str, Any]:
    """The JSON object that writes the score. Raises `Unsendable`; `score.value` is not None.

    A session's score stands on the root run of its last turn, and names the thread in `extra`, because LangSmith takes
    no feedback on threads.
    """
    target = score.target
    extra: dict[str, Any] = dict(score.metadata)
    if target.session_id is not None and target.span_id is None:
        extra["thread_id"] = target.session_id
    body: dict[str, Any] = {
        "id": score.score_id,
        "run_id": target.span_id or target.root_span_id or target.trace_id,
        "trace_id": target.trace_id,
        "session_id": project_id,
        "start_time": iso(target.start_time),
        "key": _key(score),
        **_value(score),
        "comment": _clean(score.comment)[:_COMMENT],
        "feedback_source": {"type": "model", "metadata": _source(score)},
        "extra": bounded(extra),
        "extend_trace_retention": extend_retention,
    }
    if mark_errors and isinstance(score.value, str) and score.value.startswith("error"):
        body["error"] = True
    return body


def update_of(score: Score) -> dict[str, Any]:
    """What a PATCH of a feedback that is there holds; without a value, it clears what stood there."""
    if score.value is None:
        return {"score": None, "value": None, "comment": _clean(score.comment)[:_COMMENT] or None}
    return {"score": None, "value": None, **_value(score), "comment": _clean(score.comment)[:_COMMENT]}


def bounded(extra: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as JSON in at most 32,000 bytes; the largest go first, and `left_out` names them."""
    kept: dict[str, Any] = _cleaned(json.loads(json.dumps(dict(extra), default=str)))
    sizes = {key: len(json.dumps(value, ensure_ascii=False).encode()) for key, value in kept.items()}
    left_out: list[str] = []
    while kept and sum(sizes[key] + len(key) + 8 for key in kept) > _EXTRA:
        largest = max(kept, key=lambda key: sizes[key])
        left_out.append(largest[:100])
        del kept[largest]
    return {**kept, "left_out": left_out[:20]} if left_out else kept


def _key(score: Score) -> str:
    if not score.name:
        raise Unsendable("a score needs a name")
    return score.name


def _value(score: Score) -> dict[str, Any]:
    if isinstance(score.value, str):
        if not score.value:
            raise Unsendable("a category needs a text")
        return {"value": _clean(score.value)[:_LONGEST_VALUE]}
    if score.value is None or not math.isfinite(score.value):
        raise Unsendable("a score is a finite number")
    return {"score": round(float(score.value), DECIMALS)}


def _source(score: Score) -> dict[str, Any]:
    named = {"evaluator": score.name, "by": "groundwire"}
    for key in ("row_id", "metric", "metric_version", "judge", "config_fingerprint"):
        value = score.metadata.get(key)
        if isinstance(value, str):
            named[key] = _clean(value)[:200]
    return named


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {_clean(key): _cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    return _clean(value) if isinstance(value, str) else value


def _clean(text: str) -> str:
    """The text without lone surrogates and NULs, which databases don't take."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")
