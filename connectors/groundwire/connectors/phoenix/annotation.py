"""One score as Phoenix takes it: an annotation of a span, a trace or a session, replaced under its identifier."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from groundwire.connectors.score import Score

__all__ = ["Kind", "Place", "Unsendable", "annotation_of", "identifier_of", "place_of"]

Kind = Literal["span", "trace", "session"]
_METADATA = 32_000
"""Bytes of metadata as JSON."""
_RESERVED = "note"
"""The name that Phoenix keeps for people's notes."""


class Unsendable(ValueError):  # noqa: N818 - it names the score's fault
    """A score that the server would refuse; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """What an annotation stands on."""

    kind: Kind
    target: str
    """The span's, the trace's or the session's id, as applications know it."""

    @property
    def field(self) -> str:
        """The name of the id in an annotation."""
        return f"{self.kind}_id"

    @property
    def route(self) -> str:
        """The last part of the paths for annotations of that kind."""
        return f"{self.kind}_annotations"


def place_of(score: Score) -> Place:
    """Where a score stands: on its span, else on its session, else on its trace."""
    target = score.target
    if target.span_id is not None:
        return Place(kind="span", target=target.span_id)
    if target.session_id is not None:
        return Place(kind="session", target=target.session_id)
    return Place(kind="trace", target=target.trace_id)


def identifier_of(score: Score) -> str:
    """What an annotation is replaced and deleted by, beside its name and what it stands on."""
    return f"groundwire:{score.score_id}"


def annotation_of(score: Score) -> dict[str, Any]:
    """The JSON object that writes the score. Raises `Unsendable`; `score.value` is not None."""
    if not score.name or score.name == _RESERVED:
        raise Unsendable(f'a score can\'t be called "{score.name}" on Phoenix')
    place = place_of(score)
    return {
        place.field: place.target,
        "name": score.name,
        "annotator_kind": _annotator(score.metadata),
        "result": {**_value(score), "explanation": _clean(score.comment) or None},
        "metadata": _bounded(score.metadata),
        "identifier": identifier_of(score),
    }


def _annotator(metadata: Mapping[str, Any]) -> Literal["LLM", "CODE", "HUMAN"]:
    if "labeller" in metadata:  # a person who labelled in a terminal
        return "HUMAN"
    judge = str(metadata.get("judge") or "")
    return "CODE" if judge.startswith("offline") else "LLM"


def _value(score: Score) -> dict[str, Any]:
    if isinstance(score.value, str):
        if not score.value:
            raise Unsendable("a category needs a text")
        return {"label": _clean(score.value), "score": None}
    if score.value is None or not math.isfinite(score.value):
        raise Unsendable("a score is a finite number")
    label = score.metadata.get("label")
    return {"label": _clean(label) if isinstance(label, str) and label else None, "score": float(score.value)}


def _bounded(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as JSON in at most 32,000 bytes; the largest go first, and `left_out` names them."""
    kept: dict[str, Any] = json.loads(_clean(json.dumps(dict(metadata), default=str, ensure_ascii=False)))
    sizes = {key: len(json.dumps(value, ensure_ascii=False).encode()) + len(key) + 8 for key, value in kept.items()}
    left_out: list[str] = []
    while kept and sum(sizes[key] for key in kept) > _METADATA:
        largest = max(kept, key=lambda key: sizes[key])
        left_out.append(largest[:100])
        del kept[largest]
    return {**kept, "left_out": left_out[:20]} if left_out else kept


def _clean(text: str) -> str:
    """The text without lone surrogates and NULs, which databases don't take."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "").replace("\\u0000", "")
