"""The rule on LangSmith that calls groundwire: its filter, and what to enter or to send for it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from groundwire.connectors.connector import Attachment, Instructions
from groundwire.connectors.langsmith.runs import conjoined
from groundwire.connectors.langsmith.settings import LangsmithSettings

__all__ = ["instructions_for"]

PROMPT = "CONTEXT:\n{{context}}\nINPUTS:\n{{inputs}}\nOUTPUTS:\n{{outputs}}"
"""The sections that the decision model reads its state by."""


def instructions_for(settings: LangsmithSettings, attachment: Attachment) -> Instructions:
    """What to do on LangSmith so that it calls an evaluator."""
    found = dict(_filters(attachment.where))
    left = sorted(set(attachment.where) - set(found))
    run_filter = conjoined("eq(is_root, true)", settings.filter, *(one for one in found.values() if one)) or ""
    project = settings.project_id
    common: dict[str, Any] = {
        "display_name": f"groundwire: {attachment.evaluator}",
        "session_id": project or f"<the id of the project {settings.project}>",
        "filter": run_filter,
    }
    notes = []
    if left:
        then = {
            "webhook": "groundwire leaves out itself what doesn't match",
            "decision": "the rule sends traces that it would leave out",
        }[attachment.kind]
        notes.append(f"`where` asks for {', '.join(left)}, which a rule can't: {then}.")
    match attachment.kind:
        case "webhook":
            return _webhook(settings, attachment, common, notes)
        case "decision":
            return _decision(settings, attachment, common, notes)
        case _:
            assert_never(attachment.kind)


def _webhook(
    settings: LangsmithSettings, attachment: Attachment, common: Mapping[str, Any], notes: list[str]
) -> Instructions:
    url = f"{attachment.url}/hooks/langsmith/{attachment.path}"
    if attachment.sample < 1:
        notes.append(
            f"The rule sends every trace (sampling 100 %) and groundwire judges {attachment.sample:.0%} of them: "
            "so the poll for what was never delivered finds the same ones. Deliveries cost nothing."
        )
    body = {
        **common,
        "is_enabled": True,
        "sampling_rate": 1.0,
        "trace_filter": settings.trace_filter,
        "tree_filter": settings.tree_filter,
        "webhooks": [{"url": url, "headers": {"Authorization": f"Bearer {attachment.secret}"}}],
        "extend_webhook_trace_retention": False,
    }
    return Instructions(
        steps=(
            f"In LangSmith, open the project {settings.project} → Automations (Rules) → New rule.",
            f"Name: {common['display_name']}",
            f"Filter (runs): {common['filter']}",
            *_more_filters(settings),
            "Sampling rate: 100 %",
            "Action: Trigger webhook",
            f"URL: {url}",
            f"Header: Authorization: Bearer {attachment.secret}",
            "Extend data retention: off",
        ),
        request="POST /api/v1/runs/rules",
        body={key: value for key, value in body.items() if value is not None},
        notes=tuple(notes),
    )


def _decision(
    settings: LangsmithSettings, attachment: Attachment, common: Mapping[str, Any], notes: list[str]
) -> Instructions:
    if settings.trace_filter or settings.tree_filter:
        notes.append("The API takes no trace or tree filter for it: add the source's in the rule, by hand.")
    notes += [
        "Map `context` to where your runs keep the evidence: LangSmith sends nothing else. It keeps the score itself, "
        "without claims or a comment.",
        "LangSmith extends the retention of every trace that its evaluators score unless that is switched off for the "
        "evaluator; the API that makes it has no field for it.",
    ]
    body = {
        **common,
        "provider": "typesafe_compatible",
        "base_url": attachment.url,
        "model": attachment.evaluator,
        "sampling_rate": attachment.sample,
        "template_format": "mustache",
        "prompt": [["user", PROMPT]],
        "variable_mapping": {"context": "outputs.context", "inputs": "inputs", "outputs": "outputs"},
        "questions": {
            "hallucinated": {
                "type": "noul",
                "instructions": "Does the answer say something that the context does not bear out?",
            }
        },
    }
    return Instructions(
        steps=(
            f"In LangSmith, under Settings → Secrets, set TYPESAFE_API_KEY to {attachment.secret}.",
            f"Open the project {settings.project} → Evaluators → New → Decision model, TypeSafe-compatible endpoint.",
            f"Name: {common['display_name']}",
            f"Base URL: {attachment.url}",
            f"Model: {attachment.evaluator}",
            f"State: {json.dumps(PROMPT)}, with context, inputs and outputs mapped to your runs' fields",
            "Question: hallucinated (yes/no)",
            f"Filter (runs): {common['filter']}",
            *_more_filters(settings),
            f"Sampling rate: {attachment.sample:.0%}",
            "Extend data retention: off (it is on by default)",
        ),
        request="POST /api/v1/runs/rules/decision-models",
        body=body,
        notes=tuple(notes),
    )


def _more_filters(settings: LangsmithSettings) -> Iterator[str]:
    if settings.trace_filter:
        yield f"Filter (traces): {settings.trace_filter}"
    if settings.tree_filter:
        yield f"Filter (trees): {settings.tree_filter}"


def _filters(where: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Of `where`'s fields, those that LangSmith's language can say of a root run."""
    for name, value in where.items():
        written = _written(name, value)
        if written is not None:
            yield name, written


def _written(name: str, value: Any) -> str | None:
    values = list(value) if isinstance(value, tuple | list) else [value]
    if any(isinstance(one, str) and "*" in one for one in values):
        return None  # the language has no wildcard
    match name:
        case "tags":
            return conjoined(*(f"has(tags, {json.dumps(one)})" for one in values))
        case "name":
            return _any_of([f"eq(name, {json.dumps(one)})" for one in values])
        case "session":
            return _any_of([f"eq(thread_id, {json.dumps(one)})" for one in values])
        case "user":
            return _any_of([_metadata("user_id", one) for one in values])
        case "metadata":
            return conjoined(*(_metadata(key, one) for key, one in value.items()))
        case "min_duration":
            return f'gte(latency, "{value:g}s")'
        case "max_duration":
            return f'lte(latency, "{value:g}s")'
        case _:
            return None  # model and has_error are asked of every run of a trace


def _any_of(filters: list[str]) -> str:
    return filters[0] if len(filters) == 1 else f"or({', '.join(filters)})"


def _metadata(key: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"and(eq(metadata_key, {json.dumps(key)}), eq(metadata_value, {json.dumps(text)}))"
