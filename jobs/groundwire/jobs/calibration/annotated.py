"""Labels from a platform: what people annotated there, held against the rows that were judged."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from groundwire.connectors import Annotation
from groundwire.jobs.calibration.labels import HumanLabel, Verdict
from groundwire.jobs.service import Service
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import calibrations
from groundwire.jobs.store.calibrations import JudgedTarget
from groundwire.scorer import ConfigError, Direction

__all__ = ["Annotated", "annotated_labels", "meaning"]

MOST_ROWS = 5_000
"""Rows, the newest first, whose annotations are looked for."""
_WORDS: dict[str, Verdict] = {
    **dict.fromkeys(("hallucinated", "hallucination", "ungrounded", "not grounded", "unsupported"), "hallucinated"),
    **dict.fromkeys(("grounded", "supported", "faithful", "not hallucinated"), "grounded"),
}


@dataclass(frozen=True, kw_only=True)
class Annotated:
    """What was found on the platform."""

    labels: tuple[HumanLabel, ...]
    found: int
    """Annotations of that name, whatever they stand on."""
    without_row: int
    """Of these, on something that the evaluator has not judged."""
    not_understood: int
    """Of these, with a value that says neither hallucinated nor grounded and is no score in [0, 1]."""


async def annotated_labels(
    service: Service, spec: EvaluatorSpec, name: str, *, since: datetime, hallucinated: Collection[str] = ()
) -> Annotated:
    """The people's scores of that name on what the evaluator judged since then, the newest of each.

    `hallucinated` are the values that mean it; every other one then means grounded. Raises `ConfigError` where there
    are none, and as the platform's source does.
    """
    targets = await service.store.read(_targets, spec.name, since)
    by_id = {ident: target for target in reversed(targets) for ident in _ids(target, spec.level)}
    reader = service.annotations(spec.source)
    labels: dict[str, HumanLabel] = {}
    found = without_row = not_understood = 0
    try:
        async for one in reader.annotations(name, since=since, among=list(by_id)):
            found += 1
            target = next((by_id[ident] for ident in _places(one, spec.level) if ident in by_id), None)
            if target is None:
                without_row += 1
                continue
            label, score = meaning(one.value, direction=target.direction, hallucinated=hallucinated)
            if label is None and score is None:
                not_understood += 1
                continue
            said = HumanLabel(
                partition_id=target.partition_id,
                partition_type=target.partition_type,
                trace_id=target.trace_id,
                label=label,
                score=score,
                reason=one.comment,
                labeller=one.author,
            )
            labels.setdefault(target.partition_id, said)
    finally:
        await reader.close()
    if not labels:
        raise ConfigError(
            f"{found} scores {name!r} of people were found, {without_row} of them on nothing that {spec.name} judged "
            f"and {not_understood} with a value that isn't understood (--hallucinated says which values mean it)"
        )
    return Annotated(labels=tuple(labels.values()), found=found, without_row=without_row, not_understood=not_understood)


def meaning(
    value: float | str | bool, *, direction: Direction, hallucinated: Collection[str] = ()
) -> tuple[Verdict | None, float | None]:
    """What a value says: a verdict, a score in the metric's direction, both or neither.

    A number in [0, 1] is a score; 0, 1, yes and no are verdicts too: in the good direction they mean grounded.
    """
    if hallucinated:
        wanted = {text.strip().casefold() for text in hallucinated}
        return ("hallucinated" if _text(value) in wanted else "grounded"), None
    if isinstance(value, str):
        return _WORDS.get(value.strip().casefold()), None
    number = float(value)
    if not 0 <= number <= 1:
        return None, None
    good = number if direction == "higher_is_better" else 1 - number
    verdict: Verdict | None = "grounded" if good == 1 else "hallucinated" if good == 0 else None
    return verdict, None if isinstance(value, bool) else number


def _text(value: float | str | bool) -> str:
    if isinstance(value, str):
        return value.strip().casefold()
    return str(value).casefold() if isinstance(value, bool) else f"{value:g}"


def _targets(tx: Connection, evaluator: str, since: datetime) -> Sequence[JudgedTarget]:
    return calibrations.targets(tx, evaluator, since=since, limit=MOST_ROWS)


def _ids(target: JudgedTarget, level: str) -> tuple[str, ...]:
    """What an annotation of a row can stand on."""
    if level == "span":
        return (target.span_id,) if target.span_id else ()
    if level == "session":
        return (target.session_id,) if target.session_id else ()
    return (target.trace_id,)


def _places(one: Annotation, level: str) -> tuple[str, ...]:
    if level == "span":
        return (one.span_id or "",)
    if level == "session":
        return (one.session_id or "", one.trace_id)
    return (one.trace_id,)
