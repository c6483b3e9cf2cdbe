"""Which traces an evaluator looks at: its `where`, and the guard against judging judges."""

import fnmatch
from collections.abc import Sequence

from groundwire.connectors import Trace
from groundwire.jobs.spec import SpanWhere, Where
from groundwire.scorer import Span

__all__ = ["is_loop", "matches", "matches_span", "may_match"]

OWN_TRACES = "groundwire"
"""Environment and tag under which groundwire's own judge would be traced."""


def is_loop(trace: Trace) -> bool:
    """Whether a trace is an evaluator's own: refused whatever the filter says.

    groundwire's judge, Langfuse's `langfuse*` and `llm-as-a-judge` environments, LangSmith's `evaluators` project, and
    whatever an EVALUATOR span is the root of.
    """
    if trace.root is not None and trace.root.kind == "EVALUATOR":
        return True
    environment = (trace.environment or "").lower()
    if environment.startswith("langfuse") or environment in ("llm-as-a-judge", OWN_TRACES):
        return True
    if OWN_TRACES in trace.tags:
        return True
    project = trace.metadata.get("langsmith.project")
    return isinstance(project, str) and project.lower() == "evaluators"


def matches(trace: Trace, where: Where) -> bool:
    """Whether a trace passes a filter. Every field that is set must hold; a list holds if any of its values does."""
    metadata = trace.metadata
    return (
        may_match(trace, where)
        and _any(trace.level, where.level)
        and (not where.model or any(_any(model, where.model) for model in trace.models))
        and all(_equal(metadata.get(key), value) for key, value in where.metadata.items())
        and (where.has_error is None or trace.has_error == where.has_error)
        and (where.min_duration is None or (trace.duration is not None and trace.duration >= where.min_duration))
        and (where.max_duration is None or (trace.duration is not None and trace.duration <= where.max_duration))
    )


def may_match(head: Trace, where: Where) -> bool:
    """Whether a trace can pass a filter, told from its head alone: what only its spans can tell is left open."""
    return (
        _any(head.environment, where.environment)
        and (not where.tags or set(where.tags) <= set(head.tags))
        and _any(head.name, where.name)
        and _any(head.user_id, where.user)
        and _any(head.session_id, where.session)
        and _any(head.release, where.release)
    )


def matches_span(span: Span, where: SpanWhere) -> bool:
    """Whether a model call passes the filter on the target."""
    return (
        _any(span.name, where.name)
        and _any(span.model, where.model)
        and (where.has_error is None or (span.status == "error") == where.has_error)
    )


def _any(value: str | None, patterns: Sequence[str]) -> bool:
    """Whether a value is one of those; `*` and `?` are wildcards."""
    return not patterns or (value is not None and any(fnmatch.fnmatchcase(value, pattern) for pattern in patterns))


def _equal(value: object, wanted: str | int | float | bool) -> bool:
    """Metadata compares as it is, or as text, because some platforms keep only text."""
    return value == wanted or (value is not None and str(value).lower() == str(wanted).lower())
