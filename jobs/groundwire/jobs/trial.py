"""A trial: the newest matching traces judged, and nothing written."""

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta

from groundwire.connectors import Trace, Window
from groundwire.jobs.admission import Evaluator
from groundwire.jobs.fetching import partitions_now
from groundwire.jobs.service import Service
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.scorer import Account, Row

__all__ = ["Trial", "try_evaluator"]

LOOK_BACK = timedelta(days=30)
"""How far back a trial looks for matching traces."""
MOST_SEEN = 2_000
"""Most traces that a trial looks at."""


@dataclass(kw_only=True)
class Trial:
    """What a trial came to."""

    rows: list[Row] = field(default_factory=list)
    seen: int = 0
    names: list[str] = field(default_factory=list)
    """Names of traces that the filter let by."""


async def try_evaluator(service: Service, spec: EvaluatorSpec, *, n: int) -> Trial:
    """Judge the `n` newest partitions that match, within the evaluator's caps; raises as source and judge do."""
    evaluator = Evaluator(spec=spec, metric=service.metric(spec))
    service.connector(spec.source).check_where(spec.where.fields, at=f"evaluators.{spec.name}.where")
    trial = Trial()
    newest: deque[Trace] = deque()
    now = service.clock()
    window = Window(start=now - LOOK_BACK, newest_first=True)
    source = service.source(spec.source)
    async for page in source.pull(window, None):
        trial.seen += page.seen or len(page.traces)
        for trace in page.traces:
            if evaluator.matches(trace):
                newest.append(trace)
            elif len(trial.names) < 10:
                trial.names.append(trace.name)
        if len(newest) >= n or trial.seen >= MOST_SEEN:
            break
    newest = deque(sorted(newest, key=lambda trace: str(trace.end_time or ""), reverse=True))
    while newest and len(trial.rows) < n:
        trace = newest.popleft()
        found = await partitions_now(source, trace, evaluator)
        for partition in found[: n - len(trial.rows)]:
            account = Account(evaluator=spec.name, run_id="try", trace_id=trace.trace_id)
            trial.rows.append(await evaluator.metric.score(partition, account=account))
    return trial
