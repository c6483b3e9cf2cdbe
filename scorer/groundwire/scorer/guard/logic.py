"""Three-valued logic over conditions: true, false, and unknown (None), asked no further than the outcome needs."""

from collections.abc import Awaitable, Callable

from groundwire.scorer.guard.rules import Condition, Tree

__all__ = ["Ask", "evaluate"]

Ask = Callable[[Condition], Awaitable[bool | None]]
"""Whether a condition holds; None where nobody can tell."""


async def evaluate(when: Condition | Tree, ask: Ask) -> bool | None:
    """Whether a tree holds. An AND ends at its first false and an OR at its first true; an unknown ends neither.

    AND(false, unknown) is false, AND(true, unknown) unknown, OR(true, unknown) true, OR(false, unknown) unknown.
    """
    if isinstance(when, Condition):
        return await ask(when)
    ends_at = when.operator == "OR"
    outcome: bool | None = not ends_at
    for one in when.conditions:
        found = await evaluate(one, ask)
        if found is ends_at:
            return found
        if found is None:
            outcome = None
    return outcome
