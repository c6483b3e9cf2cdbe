"""What an application's spans say of its tokens, its cost and its prompts, each counted once."""

from collections.abc import Callable, Sequence

from pydantic import JsonValue

from groundwire.connectors import Trace
from groundwire.scorer import Span, Usage, read_usage

__all__ = ["usage_facts"]


def usage_facts(trace: Trace) -> dict[str, JsonValue]:
    """`usage` as it was reported with `cost` in US dollars, `tokens` in disjoint buckets, `prompts` as `name@version`.

    An agent's span often repeats the sum of the calls below it: only the innermost spans that report something count.
    """
    return {"prompts": _prompts(trace), "usage": _usage(trace), "tokens": _tokens(trace)}


def _usage(trace: Trace) -> dict[str, JsonValue]:
    """The trace's own tokens as they were reported, and its cost in US dollars."""
    total: dict[str, float] = {}
    for span in _innermost(trace.spans, lambda span: bool(_counts(span, cost=False))):
        for name, value in _counts(span, cost=False).items():
            total[name] = total.get(name, 0) + value
    for span in _innermost(trace.spans, lambda span: bool(_counts(span, cost=True))):
        total["cost"] = total.get("cost", 0) + _counts(span, cost=True)["cost"]
    return dict(total)


def _tokens(trace: Trace) -> dict[str, JsonValue]:
    """The trace's tokens, each in one bucket only; empty where no span reports them in a form that is known."""
    total: Usage | None = None
    for span in _innermost(trace.spans, lambda span: bool(_counts(span, cost=False))):
        usage = read_usage(span.usage or {})
        if usage is not None:
            total = usage if total is None else total + usage
    if total is None:
        return {}
    return {
        "input": total.input_tokens,
        "cached": total.cached_tokens,
        "output": total.output_tokens,
        "reasoning": total.reasoning_tokens,
    }


def _counts(span: Span, *, cost: bool) -> dict[str, float]:
    return {
        name: value
        for name, value in (span.usage or {}).items()
        if isinstance(value, int | float) and not isinstance(value, bool) and (name == "cost") == cost
    }


def _innermost(spans: Sequence[Span], reports: Callable[[Span], bool]) -> list[Span]:
    """The spans that report something and have none below them that does: what stands above is their sum again."""
    reporting = {span.span_id for span in spans if reports(span)}
    parents = {span.span_id: span.parent_id for span in spans}
    above: set[str] = set()
    for span_id in reporting:
        parent = parents[span_id]
        while parent in parents and parent not in above and parent != span_id:
            above.add(parent)
            parent = parents[parent]
    return [span for span in spans if span.span_id in reporting - above]


def _prompts(trace: Trace) -> list[JsonValue]:
    """The versions of prompts that its spans name (`answer@4`)."""
    named = {prompt for span in trace.spans if isinstance(prompt := span.attributes.get("groundwire.prompt"), str)}
    return [*sorted(named)]
