"""Sample rows, arrivals and scores of the store's tests."""

from datetime import datetime
from typing import Any

from groundwire.jobs.store.outbox import Wanted
from groundwire.jobs.store.outcomes import Outcome
from groundwire.jobs.store.work import Arrival
from groundwire.scorer import Check, Citation, Claim, Row, Usage

from .conftest import NOW


def arrival(partition_id: str = "p1", **changes: Any) -> Arrival:
    given: dict[str, Any] = {
        "evaluator": "grounded",
        "partition_type": "trace",
        "partition_id": partition_id,
        "trace_id": partition_id,
        "origin": {"trace": partition_id},
        "content_hash": "hash-1",
        "not_before": NOW,
    }
    return Arrival(**{**given, **changes})


def row(row_id: str = "r1", partition_id: str = "p1", *, created_at: datetime = NOW, **changes: Any) -> Row:
    claim = Claim(
        text="Bag costs 10 EUR.",
        start=0,
        end=17,
        label="hallucinated",
        reason="E1 says 12 EUR",
        evidence=Citation(block="E1", span_id="s1", quote="12 EUR", verified=True, path="$.price"),
        checks=(Check(check="number", text="10", start=10, end=12, outcome="contradicted", value="10", quote="12"),),
    )
    given: dict[str, Any] = {
        "row_id": row_id,
        "partition_id": partition_id,
        "partition_type": "trace",
        "trace_id": partition_id,
        "metric": "agent.hallucination",
        "metric_version": "1.0.0",
        "status": "scored",
        "score": 0.75,
        "label": "hallucinated",
        "direction": "higher_is_better",
        "explanation": "The price is wrong.",
        "claims": (claim,),
        "usage": Usage(calls=2, micro_dollars=1_500),
        "judge": {"kind": "llm", "model": "gpt-5-mini", "notes": {"said": "10 EUR"}},
        "config_fingerprint": "f1",
        "groundwire_version": "0.1.0",
        "created_at": created_at,
    }
    return Row(**{**given, **changes})


def wanted(partition_id: str = "p1", *, value: float = 0.75, **changes: Any) -> Wanted:
    given: dict[str, Any] = {
        "source": "prod",
        "project": "support",
        "target": partition_id,
        "evaluator": "grounded",
        "score_name": "grounded",
        "payload": {"value": value},
        "comment": f"{value} · Bag costs 10 EUR.",
    }
    return Wanted(**{**given, **changes})


def outcome(row_id: str = "r1", partition_id: str = "p1", *, content_hash: str = "hash-1", **changes: Any) -> Outcome:
    made = row(row_id, partition_id, **changes)
    scores = (wanted(partition_id, value=made.score),) if made.score is not None else ()
    return Outcome(
        row=made, content_hash=content_hash, scores=scores, trace_time=NOW, user_id="u1", facts={"tags": ["a"]}
    )
