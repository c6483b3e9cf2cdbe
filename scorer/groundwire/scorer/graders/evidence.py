"""Does the answer cite what it should, and did the target call the tool that it should?"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.graders.answers import contains
from groundwire.scorer.graders.sample import Grade, Sample, ToolCall

__all__ = ["citation_match", "tool_called"]

_BRACKETED = re.compile(r"[\[【(]\s*([^\[\]【】()]{1,200}?)\s*[\]】)]")


def citation_match(sample: Sample, *, cite: tuple[str, ...] = (), only: bool = True) -> Grade:
    """Whether the answer cites the sources that the case (or, here, `cite`) names, and with `only` no others.

    Where a text is expected too, one of these sources must hold it. A case that must be refused is to cite nothing. A
    target that doesn't report its citations is read for source ids in brackets: `… within 14 days [refund-policy].`
    """
    cited = set(sample.citations if sample.citations is not None else _cited_in(sample))
    if sample.must_refuse:
        return Grade(passed=not cited, reason=f"cites {_list(cited)} for what no source says" if cited else "")
    wanted = set(cite or sample.cite)
    if not wanted:
        return Grade(passed=None, reason="no citation is expected")
    if not wanted <= cited:
        return Grade(passed=False, reason=f"cites {_list(cited)}, not {_list(wanted - cited)}")
    if only and cited - wanted:
        return Grade(passed=False, reason=f"cites {_list(cited - wanted)} as well")
    expected = sample.expect if isinstance(sample.expect, str) else None
    texts = [sample.sources[name] for name in sorted(wanted) if name in sample.sources]
    if expected and texts and not any(contains(text, expected) for text in texts):
        return Grade(passed=False, reason=f"{_list(wanted)} doesn't hold the expected text")
    return Grade(passed=True)


def _cited_in(sample: Sample) -> list[str]:
    marks = [mark for found in _BRACKETED.findall(sample.answer) for mark in re.split(r"\s*[,;]\s*", found)]
    return [mark for mark in marks if mark in sample.sources]


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def tool_called(
    sample: Sample,
    *,
    tool: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    times: int | None = None,
    never: bool = False,
) -> Grade:
    """Whether the target called `tool` with at least these `arguments`, `times` often, or with `never` not at all.

    Without `tool` the case's `expect` names it: `{"tool": "refund", "arguments": {"order": 42}}`.
    """
    if tool is None and isinstance(sample.expect, Mapping):
        named, given = sample.expect.get("tool"), sample.expect.get("arguments")
        tool = named if isinstance(named, str) else None
        arguments = given if isinstance(given, Mapping) else arguments
    if tool is None:
        raise ConfigError('tool_called: name the tool, in the grader or in `expect` ({"tool": …})')
    if sample.tool_calls is None:
        return Grade(passed=None, reason="nothing is known of the target's tools")
    calls = [call for call in sample.tool_calls if call.name == tool and _within(arguments or {}, call.arguments)]
    if never:
        return Grade(passed=not calls, reason=f"called {tool}" if calls else "")
    if calls if times is None else len(calls) == times:
        return Grade(passed=True)
    return Grade(passed=False, reason=_why(tool, sample.tool_calls, len(calls), times))


def _why(tool: str, calls: tuple[ToolCall, ...], found: int, times: int | None) -> str:
    if times is not None and found:
        return f"called {tool} {found} times, not {times}"
    if any(call.name == tool for call in calls):
        return f"called {tool} with other arguments"
    return f"never called {tool}"


def _within(wanted: Mapping[str, Any], given: JsonValue) -> bool:
    """Whether every wanted argument was given; what an inner object has beside that doesn't matter."""
    if not isinstance(given, Mapping):
        return not wanted
    return all(
        key in given and (_within(value, given[key]) if isinstance(value, Mapping) else given[key] == value)
        for key, value in wanted.items()
    )
