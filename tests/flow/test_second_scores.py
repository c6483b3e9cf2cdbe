"""What stands beside a score where it is asked for: its label, its dimensions, and why there is none."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.flow.rig import START, Rig, knowing, rig
from tests.jobs.test_cli_score import ORDER, trace
from tests.scorer.scripted import ScriptedJudge

from groundwire.connectors.testing import Sample, make_sample
from groundwire.jobs.schedule import Runner
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import outbox
from groundwire.scorer import Dimensions, Failure

REFUSED = Failure(status="unknown", reason="judge_refused")


def sample_of(kind: Any = "hallucinated") -> Sample:
    return make_sample(3, kind=kind, end=START - timedelta(minutes=30))


async def pass_by(r: Rig) -> dict[str, tuple[str, Any]]:
    """One turn with its deliveries; what the platform shows then, by score name: id and value."""
    await r.turn()
    await r.deliver()
    shown = [(score.name, (score.score_id, score.value)) for score in r.platform.scores()]
    assert len(shown) == len(dict(shown)), "two scores of one name"
    return dict(shown)


def values(shown: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, (_, value) in shown.items()}


def change(r: Rig, sample: Sample, name: str) -> None:
    """Something new arrives for the trace, a while later."""
    tool = sample.trace.spans[2]
    r.platform.add_span(tool.model_copy(update={"span_id": name, "output": {"found": name}}))
    r.clock.forward(minutes=5)


async def test_a_label_follows_its_score(tmp_path: Path) -> None:
    sample = sample_of()
    judge = knowing([sample])
    async with rig(tmp_path, [{"write_label": True}], judge=judge) as r:
        r.platform.put(sample.trace)
        first = await pass_by(r)
        assert values(first) == {"grounded": sample.score, "grounded.label": "hallucinated"}
        assert await pass_by(r) == first
        comments = {score.name: score.comment for score in r.platform.scores()}
        assert comments["grounded.label"] == comments["grounded"].partition("\n")[0]

        judge.labels = {}
        change(r, sample, "late")
        second = await pass_by(r)
        assert values(second) == {"grounded": 1.0, "grounded.label": "grounded"}
        assert {name: score_id for name, (score_id, _) in second.items()} == {
            name: score_id for name, (score_id, _) in first.items()
        }

        judge.fail = {"label": REFUSED}
        change(r, sample, "later")
        assert await pass_by(r) == {}
        judge.fail = {}
        change(r, sample, "at last")
        third = await pass_by(r)
        assert values(third) == {"grounded": 1.0, "grounded.label": "grounded"}
        assert third["grounded.label"][0] != first["grounded.label"][0], "a deletion under way can't hit the new one"


async def test_dimensions_stand_beside_the_score_of_a_span(tmp_path: Path) -> None:
    sample = sample_of("grounded")
    spec = {"level": "span", "write_dimensions": True, "write_status": True, "where": {"span": {"name": "answer"}}}
    judge = ScriptedJudge(dimensions=Dimensions(numeric=0.0, categorical=1.0, no_fabrication=0.5, completeness=1.0))
    async with rig(tmp_path, [spec], judge=judge) as r:
        r.platform.put(sample.trace)
        first = await pass_by(r)
        assert values(first) == {
            "grounded": 0.5,
            "grounded.numeric": 0.0,
            "grounded.categorical": 1.0,
            "grounded.no_fabrication": 0.5,
            "grounded.completeness": 1.0,
        }
        assert await pass_by(r) == first
        target = {score.span_id for score in r.platform.scores()}
        assert len(target) == 1
        judge.fail = {"faithfulness": REFUSED}
        asked = sample.trace.spans[0].input_messages[0].model_copy(update={"role": "assistant"})
        spans = [
            span.model_copy(update={"output_messages": (*span.output_messages, asked)})
            if span.span_id in target
            else span
            for span in sample.trace.spans
        ]
        r.platform.put(replace(sample.trace, spans=tuple(spans)))
        r.clock.forward(minutes=5)
        assert values(await pass_by(r)) == {"grounded.status": "unknown: judge_refused"}


async def test_a_retracted_run_takes_them_along(tmp_path: Path) -> None:
    sample = sample_of()
    async with rig(tmp_path, [{"write_label": True}], judge=knowing([sample])) as r:
        r.platform.put(sample.trace)
        assert len(await pass_by(r)) == 2
        queued = await r.store.write(outbox.retract, evaluator="grounded", run_id="run-1", now=r.clock())
        assert queued == (2, 0)
        await r.deliver()
        assert r.platform.scores() == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"level": "trace", "write_dimensions": True}, "write_dimensions needs agent.hallucination at span level"),
        ({"level": "span", "write_label": True}, "agent.hallucination has no label at span level"),
    ],
)
def test_what_a_metric_does_not_have_is_refused(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        EvaluatorSpec.model_validate({"name": "g", "source": "s", **spec})


async def test_a_file_gets_them_too(tmp_path: Path) -> None:
    traces = tmp_path / "traces.jsonl"
    traces.write_text(json.dumps(trace("It weighs 2.4 kg. The refund is 310 euros.", ORDER)) + "\n")
    out = tmp_path / "scores.jsonl"
    settings = Settings.model_validate(
        {
            "sources": {"local": {"platform": "files", "path": str(traces), "out": str(out)}},
            "evaluators": [{"name": "grounded", "source": "local", "settle": 0, "write_label": True}],
            "state": {"url": f"sqlite:///{tmp_path / 'state.db'}"},
        }
    )
    for _ in range(2):
        async with open_service(settings) as service:
            runner = Runner(service, [await service.evaluator(settings.evaluators[0])], run_id="run-1")
            await runner.once()
            assert runner.failed == runner.stopped == {}
        written = [json.loads(line) for line in out.read_text().splitlines()]
        assert {line["name"]: line["value"] for line in written} == {"grounded": 0.5, "grounded.label": "hallucinated"}
        assert len(written) == 2
