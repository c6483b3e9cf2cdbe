"""Killed again and again on the loopback Langfuse, over midnight and with a late span: one right score a trace."""

import multiprocessing
import os
import signal
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp, served
from tests.connectors.langfuse_rows import row_of_span, trace_fields
from tests.flow.langfuse_child import run
from tests.flow.test_langfuse_line import put

from groundwire.connectors.testing import make_sample
from groundwire.jobs.backfill import Span

NAME = "support-groundedness"


@dataclass(kw_only=True)
class DeadlyApp(LangfuseApp):
    """Kills its client when it has stored the client's scores and before it answers."""

    folder: Path
    kills: int = 0

    def _post_scores(self, request: Request) -> Response:
        return self._after(super()._post_scores(request))

    def _ingestion(self, request: Request) -> Response:
        return self._after(super()._ingestion(request))

    def _after(self, response: Response) -> Response:
        if self.kills:
            self.kills -= 1
            os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)
            time.sleep(0.2)
        return response


def backfill(
    folder: Path, url: str, asked: Span, *, again: bool = False, days: int = 0, step: str = "-", nth: int = 0
) -> bool:
    """One process; whether it lived to its end. What is done stays done unless it is asked for `again`."""
    source = {"platform": "langfuse", "host": url, "public_key": PUBLIC_KEY, "secret_key": SECRET_KEY, "settle": 0}
    configuration: dict[str, Any] = {
        "sources": {"prod": source},
        "evaluators": [{"name": NAME, "source": "prod", "settle": 0, "write_label": True}],
        "state": {"url": f"sqlite:///{folder / 'state.db'}"},
    }
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.flow.child", "tests.flow.langfuse_child"])
    process = processes.Process(target=run, args=(folder, configuration, asked, again, days, step, nth))
    process.start()
    process.join(timeout=60)
    assert process.exitcode in (0, -signal.SIGKILL), "the child failed; its error stands above"
    return process.exitcode == 0


@pytest.mark.parametrize("version", ["4.75.0", "4.16.0"])
def test_killed_at_every_turn(version: str, tmp_path: Path) -> None:
    ahead = timedelta(0)
    app = DeadlyApp(version=version, clock=lambda: datetime.now(UTC) + ahead, folder=tmp_path)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    kinds: tuple[Any, ...] = ("grounded", "hallucinated", "grounded", "invalid")
    samples = [
        make_sample(index, seed=6, kind=kinds[index % 4], end=midnight + timedelta(seconds=12 - 2 * index))
        for index in range(12)
    ]
    assert {sample.trace.spans[0].start_time.date() for sample in samples} == {
        midnight.date(),
        midnight.date() - timedelta(days=1),
    }
    right = {sample.trace.trace_id: sample.score for sample in samples if sample.score is not None}
    labels = {trace_id: "grounded" if score == 1 else "hallucinated" for trace_id, score in right.items()}

    def shown(name: str = NAME) -> dict[str, Any]:
        found = [(score["traceId"], score["value"]) for score in app.shown() if score["name"] == name]
        assert len(found) == len(dict(found)), "a trace bears two scores"
        return dict(found)

    asked = Span(start=midnight - timedelta(hours=1), end=midnight + timedelta(hours=1))
    with served(app) as url:
        for sample in samples:
            put(app, sample.trace)
        assert not backfill(tmp_path, url, asked, step="comment", nth=4)
        assert shown() == {}
        assert not backfill(tmp_path, url, asked, days=1, step="deliver", nth=1)
        assert shown() == {}
        app.kills = 1
        ahead = timedelta(days=1)
        assert not backfill(tmp_path, url, asked, days=2)
        assert shown() != {}, "stored there, and never heard of here"
        ahead = timedelta(days=2)
        assert backfill(tmp_path, url, asked, days=3)
        assert (shown(), shown(f"{NAME}.label")) == (right, labels)

        wrong = next(sample for sample in samples if sample.kind == "hallucinated")
        tool = next(span for span in wrong.trace.spans if span.kind == "TOOL")
        proof = {"note": " ".join(wrong.invented)}
        late = tool.model_copy(update={"span_id": "f" * 16, "name": "check", "tool_name": "check", "output": proof})
        app.put({**row_of_span(late), **trace_fields({"environment": "production", "metadata": {}})})
        app.kills = 1
        assert not backfill(tmp_path, url, asked, again=True, days=4)
        assert backfill(tmp_path, url, asked, again=True, days=5)
        right[wrong.trace.trace_id], labels[wrong.trace.trace_id] = 1.0, "grounded"
        assert (shown(), shown(f"{NAME}.label")) == (right, labels)
        written = len(app.sent)
        assert backfill(tmp_path, url, asked, again=True, days=6)
        assert len(app.sent) == written, "nothing is left to write"
    assert all(score["timestamp"] < datetime.now(UTC).isoformat() for score in app.shown())
