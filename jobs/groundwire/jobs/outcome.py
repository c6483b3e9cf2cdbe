"""What a row becomes on the platform: its scores, their comment and metadata, and the facts kept for reports."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import JsonValue

from groundwire.connectors import Score, Target, Trace
from groundwire.jobs.facts import usage_facts
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store.outbox import Entry, Wanted
from groundwire.jobs.store.rows import StoredRow
from groundwire.scorer import Claim, Dimensions, Partition, Row, headline, write_comment

__all__ = ["backoff", "facts_of", "score_of", "scores_of", "target_of"]

FIRST_WAIT = 15.0
"""Seconds before the first retry of an error; each further one waits twice as long."""
LONGEST_WAIT = 3600.0
MOST_CLAIMS = 16_000
"""Bytes of a score's claims as JSON: LangSmith's feedback and others' metadata take more, with the rest of it."""
LONGEST_TEXT = 400
"""Characters of a claim, and of a reason, that go with a score."""


def backoff(attempts: int, *, key: str) -> float:
    """Seconds to wait after that many attempts: doubling, at most an hour, with a jitter fixed by the key."""
    digest = hashlib.sha256(f"{key}:{attempts}".encode()).digest()
    jitter = int.from_bytes(digest[:4], "big") / 2**32
    return min(FIRST_WAIT * 2.0 ** (attempts - 1), LONGEST_WAIT) * (0.5 + 0.5 * jitter)


def scores_of(
    row: Row,
    spec: EvaluatorSpec,
    trace: Trace,
    partition: Partition,
    *,
    source: str,
    project: str,
    before: StoredRow | None,
) -> list[Wanted]:
    """What should stand on the platform for a row.

    A row without a score withdraws the one that stood there, and those beside it. With `write_status`, `<name>.status`
    tells why; `write_label` and `write_dimensions` put what the score was made of beside it.
    """
    target = target_of(trace, partition, project=project, before=before)
    key = f"{partition.partition_type}:{partition.partition_id}"
    whole = _comment(row, trace, before)

    def wanted(name: str, value: float | str | None, comment: str, *, lower_is_better: bool = False) -> Wanted:
        return Wanted(
            source=source,
            project=project,
            target=key,
            evaluator=spec.name,
            score_name=name,
            action="put" if value is not None else "delete",
            payload={
                "name": name,
                "value": value,
                "target": target,
                "metadata": _metadata(row),
                "lower_is_better": lower_is_better,
            },
            comment=comment if value is not None else "",
        )

    main = wanted(spec.name, row.score, whole, lower_is_better=row.direction == "lower_is_better")
    scores = [replace(main, details=_claims(row)) if main.action == "put" else main]
    if spec.write_status:
        unscored = row.status in ("unknown", "invalid", "error")
        scores.append(wanted(f"{spec.name}.status", f"{row.status}: {row.reason}" if unscored else None, whole))
    if spec.write_label:
        scores.append(wanted(f"{spec.name}.label", row.label, headline(row)))
    if spec.write_dimensions:
        found = row.dimensions or {}
        scores += [wanted(f"{spec.name}.{name}", found.get(name), headline(row)) for name in Dimensions.model_fields]
    # what never stood there needs no withdrawing
    return [score for score in scores if score.action == "put" or before is not None]


def _comment(row: Row, trace: Trace, before: StoredRow | None) -> str:
    if before is None or before.superseded_at is not None:
        return write_comment(row)
    spans = before.facts.get("spans")
    more = len(trace.spans) - spans if isinstance(spans, int) else 0
    if before.content_hash and before.row.row_id == row.row_id:
        return write_comment(row)
    what = f"{more} {'span' if more == 1 else 'spans'} arrived later" if more > 0 else "its content changed"
    if before.row.config_fingerprint != row.config_fingerprint:
        what = "under another configuration"
    earlier = "no score" if before.row.score is None else f"{before.row.score:.2f}"
    return write_comment(row, note=f"re-scored: {what} (before: {earlier})")


def target_of(trace: Trace, partition: Partition, *, project: str, before: StoredRow | None) -> dict[str, JsonValue]:
    """Where a score stands. Its time is that of the first scoring: a late root doesn't move it to another day."""
    root = trace.root
    span = partition.target or root
    first = before.facts.get("target_time") if before is not None else None
    start = span.start_time if span is not None else (trace.start_time or datetime.fromtimestamp(0, UTC))
    return {
        "project": project,
        "trace_id": trace.trace_id,
        "span_id": partition.target_span_id,
        "root_span_id": root.span_id if root is not None and partition.target is None else None,
        "session_id": trace.session_id if partition.partition_type == "session" else None,
        "start_time": str(first) if first else start.astimezone(UTC).isoformat(),
        "environment": trace.environment,
    }


def _metadata(row: Row) -> dict[str, JsonValue]:
    labels = Counter(claim.label or claim.reason or "undecided" for claim in row.claims)
    return {
        "row_id": row.row_id,
        "metric": row.metric,
        "metric_version": row.metric_version,
        "partition_type": row.partition_type,
        "label": row.label,
        "labels": dict(labels),
        "coverage": round(row.coverage.share, 4),
        "flags": list(row.flags),
        "judge": f"{row.judge.get('kind')} {row.judge.get('model')}",
        "micro_dollars": row.usage.micro_dollars,
        "config_fingerprint": row.config_fingerprint,
    }


def _claims(row: Row) -> dict[str, JsonValue]:
    """The row's claims and the stretches of the answer that are unsupported, in at most `MOST_CLAIMS` bytes.

    Where they are too many, those that aren't hallucinated go first, and `claims_left_out` counts what went.
    """
    if not row.claims:
        return {}
    kept: dict[int, dict[str, JsonValue]] = {}
    room = MOST_CLAIMS
    for index in sorted(range(len(row.claims)), key=lambda index: (row.claims[index].label != "hallucinated", index)):
        written = _claim(row.claims[index])
        size = len(json.dumps(written, ensure_ascii=False).encode("utf-8", "replace"))
        if size <= room:
            kept[index] = written
            room -= size
    spans: list[JsonValue] = [
        {key: written[key] for key in ("start", "end", "type", "probability") if key in written}
        for index, written in sorted(kept.items())
        if row.claims[index].label == "hallucinated" and "start" in written
    ]
    found: dict[str, JsonValue] = {"claims": [kept[index] for index in sorted(kept)], "spans": spans}
    left_out = len(row.claims) - len(kept)
    return {**found, "claims_left_out": left_out} if left_out else found


def _claim(claim: Claim) -> dict[str, JsonValue]:
    written: dict[str, JsonValue] = {
        "text": claim.text[:LONGEST_TEXT],
        "start": claim.start,
        "end": claim.end,
        "label": claim.label,
        "type": claim.type,
        "reason": claim.reason[:LONGEST_TEXT],
        "probability": claim.probability,
        "evidence": claim.evidence.block if claim.evidence is not None else None,
    }
    return {name: value for name, value in written.items() if value not in (None, "")}


def facts_of(trace: Trace, partition: Partition, *, before: StoredRow | None) -> dict[str, JsonValue]:
    """What reports ask of a trace beside its row; ids and numbers only."""
    first = before.facts.get("target_time") if before is not None else None
    span = partition.target or trace.root
    start = span.start_time if span is not None else trace.start_time
    return {
        "environment": trace.environment,
        "tags": list(trace.tags),
        "release": trace.release,
        "name": trace.name,
        "models": list(trace.models),
        "latency": trace.duration,
        "spans": len(trace.spans),
        **usage_facts(trace),
        "target_time": first or (start.astimezone(UTC).isoformat() if start else None),
    }


def score_of(entry: Entry, *, score_id: str) -> Score:
    """The score that an outbox entry stands for."""
    payload = entry.payload
    target, metadata = payload["target"], payload.get("metadata")
    if not isinstance(target, Mapping):
        raise TypeError("an outbox entry's target is an object")
    value = payload.get("value")
    return Score(
        score_id=score_id,
        name=str(payload["name"]),
        value=None if entry.action == "delete" or not isinstance(value, int | float | str) else value,
        target=Target(
            project=str(target["project"]),
            trace_id=str(target["trace_id"]),
            span_id=_text(target.get("span_id")),
            root_span_id=_text(target.get("root_span_id")),
            session_id=_text(target.get("session_id")),
            start_time=datetime.fromisoformat(str(target["start_time"])),
            environment=_text(target.get("environment")),
        ),
        comment=entry.comment or "",
        metadata={**(metadata if isinstance(metadata, Mapping) else {}), **(entry.details or {})},
        lower_is_better=bool(payload.get("lower_is_better")),
    )


def _text(value: JsonValue) -> str | None:
    return str(value) if value else None
