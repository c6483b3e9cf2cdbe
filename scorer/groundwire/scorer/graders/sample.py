"""A sample: one answer with what was asked, expected and used; a grade: what a grader makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

__all__ = ["Grade", "Grader", "Sample", "ToolCall"]


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A tool that the target called."""

    name: str
    arguments: JsonValue = None
    """Decoded where they came as JSON in a string."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What a grader sees."""

    input: JsonValue = ""
    """The question, or whatever the target is given."""
    answer: str = ""
    citations: tuple[str, ...] | None = None
    """Ids of the sources that the target says it used; None where it says nothing of sources."""
    tool_calls: tuple[ToolCall, ...] | None = None
    """In the order of the calls; None where nothing is known of tools."""
    latency_seconds: float | None = None
    micro_dollars: int | None = None
    """What the answer cost, without any judge; None where it isn't known."""
    expect: JsonValue = None
    """What the case expects; None where it expects nothing in particular."""
    cite: tuple[str, ...] = ()
    """Ids of the sources that the case expects to be cited."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The texts that the answer may rest on, by id."""
    must_refuse: bool | None = None
    """True where the only right answer is that there is none; None where nobody says, as in production."""


@dataclass(frozen=True, kw_only=True)
class Grade:
    """What a grader found."""

    passed: bool | None
    """None where there was nothing to grade by: neither a pass nor a failure."""
    reason: str = ""
    """One line; of a pass usually empty."""
    label: str | None = None
    """What it is, where there is more to say than passed: `refused`, `partial`, `answered`."""


class Grader(Protocol):
    """Grades one sample: a function, or anything that is called like one."""

    def __call__(self, sample: Sample, /) -> Grade:
        """The grade. What it raises is a fault of the grader and no grade."""
        ...
