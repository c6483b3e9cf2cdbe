"""A project of the loopback LangSmith, and a configuration that scores it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.connectors.langsmith_app import API_KEY, LangsmithApp
from tests.connectors.langsmith_runs import as_uuid, run_of_span

from groundwire.connectors.testing import Sample, make_sample
from groundwire.jobs.settings import Settings

NAME = "support-groundedness"
TOKEN = "token-token-token-token"
SECRET = "secret-secret-secret-secret"
LIMITLESS = {"limits": {"query": (10_000, 10.0)}}
"""No test of the line waits for a key's rate limit; `test_langsmith_reading.py` holds it."""
GENERATIONS: dict[str, dict[str, Any]] = {
    "v2": LIMITLESS,
    "v1": {**LIMITLESS, "version": "0.12.0", "flags": {"ch_query_enabled": True}, "v2": False},
}
KINDS = ("grounded", "hallucinated", "grounded", "invalid")


def as_configured(
    folder: Path, url: str, *, service: dict[str, Any] | None = None, source: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """The configuration as a file would hold it."""
    where = {"platform": "langsmith", "host": url, "api_key": API_KEY, "project": "support", "queries": 10_000}
    return {
        "sources": {"prod": {**where, "settle": 0, "lateness": 3600, **(source or {})}},
        "evaluators": [{"name": NAME, "source": "prod", "settle": 0, **spec}],
        "service": {"token": TOKEN, "hook_secret": SECRET, "port": 0, **(service or {})},
        "state": {"url": f"sqlite:///{folder / 'state.db'}"},
    }


def configured(folder: Path, url: str, **more: Any) -> Settings:
    return Settings.model_validate(as_configured(folder, url, **more))


def samples(count: int, *, ended: datetime, first: int = 0) -> list[Sample]:
    return [
        make_sample(index, seed=5, kind=KINDS[index % 4], end=ended - timedelta(seconds=index))  # type: ignore[arg-type]
        for index in range(first, first + count)
    ]


def put(app: LangsmithApp, sample: Sample) -> str:
    """The sample's trace in the project, as an application's SDK sends it; gives its id there."""
    root = sample.trace.root
    assert root is not None
    for span in sample.trace.spans:
        app.put(run_of_span(span, root_id=root.span_id))
    return as_uuid(sample.trace.trace_id)


def shown(app: LangsmithApp, name: str = NAME) -> dict[str, Any]:
    """Every trace's score. Fails where a trace bears two."""
    found = [(one["run_id"], one["score"]) for one in app.shown() if one["key"] == name]
    assert len(found) == len(dict(found)), "a trace bears two scores"
    return dict(found)


def expected(all_samples: Sequence[Sample]) -> dict[str, Any]:
    return {
        as_uuid(sample.trace.trace_id): round(sample.score, 4) for sample in all_samples if sample.score is not None
    }
