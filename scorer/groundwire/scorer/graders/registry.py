"""The graders by name, and users' own by dotted path, with their parameters checked once."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic wants this one below Python 3.12

from groundwire.scorer.dotted import load_callable
from groundwire.scorer.errors import ConfigError
from groundwire.scorer.graders.answers import answer_match
from groundwire.scorer.graders.evidence import citation_match, tool_called
from groundwire.scorer.graders.limits import cost_under, latency_under, schema_valid
from groundwire.scorer.graders.refusals import refusal
from groundwire.scorer.graders.sample import Grade, Grader, Sample

__all__ = ["GRADERS", "build_grader"]

_typed_dict: Any = TypedDict
"""Called with names that are known only at run time, which type checkers don't take."""

GRADERS: Mapping[str, Callable[..., Grade]] = {
    grader.__name__: grader
    for grader in (
        answer_match,
        citation_match,
        cost_under,
        latency_under,
        refusal,
        schema_valid,
        tool_called,
    )
}
"""By the name under which a suite or an evaluator asks for them."""


def build_grader(
    function: str | Callable[..., Any], parameters: Mapping[str, Any], *, folder: Path | None = None
) -> Grader:
    """The grader with its parameters: one of `GRADERS` by name, or a function of the user's own.

    That is given itself, or by its dotted path (`package.module:function`), looked for in `folder` first.

    A function takes a `Sample` and, as keyword-only arguments, its parameters; it returns a `Grade`, a bool, or None
    where there is nothing to grade by. Raises `ConfigError` for an unknown name and for parameters that don't fit.
    """
    if isinstance(function, str) and ":" in function:
        function = load_callable(function, folder=folder)
    if isinstance(function, str):
        if function not in GRADERS:
            raise ConfigError(f"no grader is called {function!r}; there are: {', '.join(sorted(GRADERS))}")
        function = GRADERS[function]
    checked = _checked(function, parameters)

    def grade(sample: Sample, /) -> Grade:
        found = function(sample, **checked)
        return found if isinstance(found, Grade) else Grade(passed=None if found is None else bool(found))

    return grade


def _checked(function: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, of the types that the function's own annotations say."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        wanted = [
            parameter
            for parameter in inspect.signature(function, eval_str=True).parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        ]
    except (TypeError, ValueError, NameError):
        raise ConfigError(f"{name}: its parameters can't be read") from None
    fields: dict[str, Any] = {}
    for one in wanted:
        kind = Any if one.annotation is inspect.Parameter.empty else one.annotation
        fields[one.name] = kind if one.default is inspect.Parameter.empty else NotRequired[kind]
    form = _typed_dict(name, fields)
    form.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    try:
        checked: dict[str, Any] = TypeAdapter(form).validate_python(dict(parameters))
        return checked
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(sorted(fields)) or "none"
            raise ConfigError(f"{name}: it has no parameter {key!r}; its parameters: {known}") from None
        raise ConfigError(f"{name}: {key}: {first['msg']}") from None
