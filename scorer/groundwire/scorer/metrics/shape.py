"""The shape of a trace: its tree, and the rules that say which shapes `agent.hallucination` can score."""

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.scorer.naming import RootRule
from groundwire.scorer.partition import Partition, Span

__all__ = ["Broken", "Tree", "below", "in_time_order", "tree_of"]


@dataclass(frozen=True, kw_only=True)
class Broken:
    """The rule a trace's shape breaks, and what mends it."""

    rule: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A single agent's trace: its root and everything below it, in time order."""

    root: Span
    below: tuple[Span, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        """The root, then what is below it."""
        return (self.root, *self.below)


def in_time_order(spans: Sequence[Span]) -> list[Span]:
    """Spans by start time; ties by their position, then id, so that arrival order doesn't matter to what is equal."""
    return sorted(spans, key=lambda span: (span.start_time, span.end_time or span.start_time, span.span_id))


def below(spans: Sequence[Span], root: RootRule) -> list[Span]:
    """The first span that matches and everything below it, in time order; nothing where none matches."""
    ordered = in_time_order(spans)
    chosen = next((span for span in ordered if root.matches(span)), None)
    if chosen is None:
        return []
    tree = _gathered(chosen, _children(ordered))
    return [chosen, *tree]


def _children(spans: Sequence[Span]) -> dict[str, list[Span]]:
    known = {span.span_id for span in spans}
    children: dict[str, list[Span]] = {}
    for span in spans:
        if span.parent_id is not None and span.parent_id in known:
            children.setdefault(span.parent_id, []).append(span)
    return children


def _gathered(root: Span, children: dict[str, list[Span]]) -> list[Span]:
    """Everything below a span, in time order; a cycle is walked once."""
    found: list[Span] = []
    seen = {root.span_id}
    stack = [root.span_id]
    while stack:
        for child in children.get(stack.pop(), ()):
            if child.span_id not in seen:
                seen.add(child.span_id)
                found.append(child)
                stack.append(child.span_id)
    return in_time_order(found)


def tree_of(partition: Partition, *, root: RootRule | None = None) -> Tree | Broken:
    """The tree to judge, or the first rule that the partition breaks.

    Exactly one root; no AGENT span below it; at least one TOOL span below it. A span whose parent isn't in the
    partition counts as a root.
    """
    spans = in_time_order(partition.spans)
    if not any(span.kind in ("TOOL", "LLM") for span in spans):
        return Broken(
            rule="required_kinds",
            remedy="no span is of kind TOOL or LLM; `kinds` can re-kind spans by name or kind",
        )
    known = {span.span_id for span in spans}
    roots = [span for span in spans if span.parent_id is None or span.parent_id not in known]
    children = _children(spans)
    if root is not None:
        chosen = next((span for span in spans if root.matches(span)), None)
        if chosen is None:
            return Broken(rule="root_not_found", remedy="no span matches `root`; check its name or kind")
        return _checked(chosen, children)
    if not roots:
        return Broken(rule="parent_cycle", remedy="the spans' parents form a cycle; `root` can pick a subtree")
    if len(roots) > 1:
        return Broken(
            rule="several_roots",
            remedy=f"{len(roots)} spans have no parent in the trace; `root` can pick the one to judge",
        )
    tree = _checked(roots[0], children)
    if isinstance(tree, Tree) and len(tree.spans) < len(spans):
        return Broken(
            rule="parent_cycle",
            remedy=f"{len(spans) - len(tree.spans)} spans hang in a cycle of parents; `root` can pick a subtree",
        )
    return tree


def _checked(root: Span, children: dict[str, list[Span]]) -> Tree | Broken:
    found = _gathered(root, children)
    if any(span.kind == "AGENT" for span in found):
        return Broken(
            rule="orchestrator_subagent",
            remedy='an AGENT span stands below the root; `root = {name = "…"}` judges one agent\'s subtree, '
            '`kinds = [{kind = "AGENT", to = "CHAIN"}]` judges them as one',
        )
    if not any(span.kind == "TOOL" for span in found):
        return Broken(
            rule="no_tool",
            remedy="no TOOL span stands below the root (a RETRIEVER doesn't count); "
            '`kinds = [{kind = "RETRIEVER", to = "TOOL"}]` makes retrievals count',
        )
    return Tree(root=root, below=tuple(found))
