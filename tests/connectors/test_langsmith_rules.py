"""The rule that `attach` prints: in LangSmith's language, of fields that its API knows, and never dearer than asked."""

from typing import Any

import pytest
from langsmith.types import EvaluatorCreateDecisionModelParams, Rule
from tests.connectors.langsmith_app import API_KEY, PROJECT, LangsmithApp
from tests.connectors.langsmith_filters import matches
from tests.connectors.langsmith_runs import NOON, agent_trace

from groundwire.connectors import Attachment, Instructions
from groundwire.connectors.langsmith import LangsmithSettings
from groundwire.connectors.langsmith.rules import instructions_for


def printed(*, source: dict[str, Any] | None = None, **asked: Any) -> Instructions:
    settings = LangsmithSettings.model_validate({"api_key": API_KEY, "project": PROJECT, **(source or {})})
    return instructions_for(
        settings,
        Attachment(
            **{
                "evaluator": "grounded (a)",
                "path": "grounded%20%28a%29",
                "kind": "webhook",
                "url": "https://gw.example.com",
                "secret": "$SECRET",
                **asked,
            }
        ),
    )


def test_a_webhooks_rule() -> None:
    found = printed(sample=0.1, source={"filter": 'has(tags, "prod")', "tree_filter": 'eq(name, "search")'})
    assert found.request == "POST /api/v1/runs/rules"
    assert set(found.body) <= set(Rule.model_fields) | {"session_id"}
    assert found.body["session_id"] == PROJECT
    assert found.body["sampling_rate"] == 1.0, "groundwire samples, so that the poll finds the same traces"
    assert found.body["extend_webhook_trace_retention"] is False
    assert found.body["webhooks"] == [
        {
            "url": "https://gw.example.com/hooks/langsmith/grounded%20%28a%29",
            "headers": {"Authorization": "Bearer $SECRET"},
        }
    ]
    assert found.body["filter"] == 'and(eq(is_root, true), has(tags, "prod"))'
    assert found.body["tree_filter"] == 'eq(name, "search")'
    assert any("retention: off" in step for step in found.steps)
    assert "judges 10% of them" in found.notes[0]


def test_a_decision_models_evaluator() -> None:
    found = printed(kind="decision", sample=0.25, source={"trace_filter": "eq(is_root, true)"})
    assert found.request == "POST /api/v1/runs/rules/decision-models"
    assert set(found.body) <= set(EvaluatorCreateDecisionModelParams.__annotations__)
    assert set(EvaluatorCreateDecisionModelParams.__required_keys__) <= set(found.body)
    assert found.body["base_url"] == "https://gw.example.com"
    assert found.body["model"] == "grounded (a)"
    assert found.body["sampling_rate"] == 0.25
    assert found.body["questions"]["hallucinated"]["type"] == "noul"
    assert "retention" in found.steps[-1]
    assert any("trace or tree filter" in note for note in found.notes)


WHERE: list[tuple[dict[str, Any], bool]] = [
    ({"tags": ("prod",)}, True),
    ({"tags": ("prod", "beta")}, False),
    ({"name": ("other", "support-agent")}, True),
    ({"name": ("other",)}, False),
    ({"session": ("chat-1",)}, True),
    ({"metadata": {"environment": "production"}}, True),
    ({"metadata": {"environment": "staging"}}, False),
    ({"min_duration": 4.0}, True),
    ({"max_duration": 4.0}, False),
]


@pytest.mark.parametrize(("where", "holds"), WHERE)
def test_where_in_the_servers_own_language(where: dict[str, Any], holds: bool) -> None:
    app = LangsmithApp(clock=lambda: NOON)
    trace_id = agent_trace(app, 3, end=NOON)
    root = next(row for row in app.runs if row["id"] == trace_id)
    written = printed(where=where).body["filter"]
    assert matches(written, root) is holds


def test_what_the_language_cannot_say_is_named() -> None:
    where = {"name": ("support-*",), "model": ("gpt-5",), "tags": ("prod",)}
    by_hook, by_decision = printed(where=where), printed(where=where, kind="decision")
    assert by_hook.body["filter"] == 'and(eq(is_root, true), has(tags, "prod"))'
    assert by_hook.notes == (
        "`where` asks for model, name, which a rule can't: groundwire leaves out itself what doesn't match.",
    )
    assert "the rule sends traces that it would leave out" in by_decision.notes[0]


def test_a_project_by_name_asks_for_its_id() -> None:
    assert printed(source={"project": "support"}).body["session_id"] == "<the id of the project support>"
