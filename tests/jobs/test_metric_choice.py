"""Evaluators choose their metric in the configuration; what a metric hasn't is refused with a line that says so."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.flow.rig import Clock, rig

from groundwire.connectors.testing import make_sample
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings, load_settings
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.scorer import (
    METRICS,
    ConfigError,
    OfflineJudge,
    SpansConfig,
)

HOUR = timedelta(hours=1)
SOURCE = '[sources.prod]\nplatform = "files"\npath = "traces.jsonl"\nout = "scores.jsonl"\n'


def loaded(folder: Path, evaluator: str, judges: str = "") -> Settings:
    path = folder / "groundwire.toml"
    state = f'[state]\nurl = "sqlite:///{folder / "state.db"}"\n'
    path.write_text(
        f'{SOURCE}{state}{judges}[[evaluators]]\nname = "e"\nsource = "prod"\n{evaluator}\n', encoding="utf-8"
    )
    return load_settings(path, environment={})


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "code.grader"])
async def test_an_evaluator_has_its_metrics_own_configuration(metric: str, tmp_path: Path) -> None:
    settings = loaded(tmp_path, f'metric = "{metric}"')
    spec = settings.evaluator("e")
    assert type(spec.config) is METRICS[metric].config  # type: ignore[index]
    assert type(spec.settings) is METRICS[metric].settings  # type: ignore[index]
    async with open_service(settings) as service:
        made = service.metric(spec)
        assert made.manifest.name == metric
        assert type(made) is METRICS[metric].make  # type: ignore[index]


def test_settings_that_are_not_set_are_the_metrics_own() -> None:
    def given(metric: str) -> Any:
        return EvaluatorSpec.model_validate({"name": "e", "source": "s", "metric": metric}).settings

    assert given("agent.hallucination").given == ("user", "provided")
    assert given("unsupported_spans").given == ()
    assert not hasattr(given("conversation.hallucination"), "given")


def test_the_configuration_survives_its_own_json() -> None:
    spec = EvaluatorSpec.model_validate(
        {"name": "e", "source": "s", "metric": "unsupported_spans", "config": {"predicate": 0.7}}
    )
    again = EvaluatorSpec.model_validate(spec.model_dump(mode="json", exclude_unset=True))
    assert again == spec
    assert isinstance(again.config, SpansConfig)
    assert again.config.predicate == 0.7


@pytest.mark.parametrize(
    ("evaluator", "said"),
    [
        ('metric = "conversation.halucination"', "evaluators.0.metric: Input should be 'agent.hallucination'"),
        ('metric = "unsupported_spans"\nconfig = { predicate = 2 }', "predicate: Input should be less than"),
        ('metric = "unsupported_spans"\nconfig = { predicat = 0.5 }', "predicat: no such key; there are "),
        ('config = { predicate = 0.5 }', "predicate: no such key; there are "),
        ('metric = "conversation.hallucination"\nrecheck = true', "recheck: conversation.hallucination has no"),
        ('metric = "conversation.hallucination"\ngiven = []', "given: conversation.hallucination has no such setting"),
        ('metric = "unsupported_spans"\nrecheck = true', "recheck: unsupported_spans has no such setting"),
        ('idle = "5m"', "idle: only sessions wait for it; set settle, or level to session"),
        ('where = { span = { model = "m" } }', 'where.span chooses model calls; it needs level = "span"'),
    ],
)  # fmt: skip
def test_what_a_metric_has_not_is_refused_in_one_line(evaluator: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, evaluator)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("evaluator", "said"),
    [
        ('level = "session"', "evaluators.e: agent.hallucination scores span and trace partitions, not sessions"),
        ('metric = "unsupported_spans"\nlevel = "session"', "unsupported_spans scores span and trace partitions"),
        (
            'metric = "unsupported_spans"\njudge = "decider"',
            "evaluators.e: span_required: the decision judge can't answer spans",
        ),
    ],
)
async def test_a_level_or_judge_that_can_not_is_refused_when_it_is_loaded(
    evaluator: str, said: str, tmp_path: Path
) -> None:
    judges = '[judges.decider]\nkind = "decision"\nmodel = "d"\nbase_url = "http://127.0.0.1:9"\n'
    settings = loaded(tmp_path, evaluator, judges)
    async with open_service(settings) as service:
        with pytest.raises(ConfigError, match=said):
            service.metric(settings.evaluator("e"))


@pytest.mark.parametrize(
    ("metric", "label", "headline"),
    [
        ("conversation.hallucination", "hallucinated", "hallucinated · "),
        ("unsupported_spans", "matched", "2 unsupported spans, p ≥ "),
    ],
)
async def test_scores_of_every_metric_go_through_the_line(
    metric: str, label: str, headline: str, tmp_path: Path
) -> None:
    clock = Clock()
    sample = next(
        one
        for index in range(20)
        if len((one := make_sample(index, kind="hallucinated", end=clock() - HOUR)).invented) == 2
    )
    spec = {"metric": metric, "settle": 0, "write_label": True}
    async with rig(tmp_path, [spec], judge=OfflineJudge(), clock=clock) as line:
        line.platform.put(sample.trace)
        await line.turn()
        await line.deliver()
        (stored,) = await line.rows()
        assert (stored.row.metric, stored.row.label, stored.row.score) == (metric, label, 1.0)
        assert stored.row.direction == "lower_is_better"
        scores = {score.name: score for score in line.platform.scores()}
        assert scores["grounded"].value == 1.0
        assert scores["grounded"].comment.startswith(headline)
        assert scores["grounded.label"].value == label
