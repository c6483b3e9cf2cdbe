"""Does the answer say what is expected: contained, equal, by pattern, as a number, at a JSON path?"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from groundwire.scorer.checks import read_values
from groundwire.scorer.claims import find_quote
from groundwire.scorer.errors import ConfigError
from groundwire.scorer.graders.sample import Grade, Sample

__all__ = ["answer_match", "contains", "decode_answer"]

Mode = Literal["contains", "exact", "regex", "numeric", "json_path"]

_FENCED = re.compile(r"\A\s*```[\w-]*\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)


def answer_match(
    sample: Sample,
    *,
    mode: Mode = "contains",
    expect: Any = None,
    ignore_case: bool = True,
    whole_words: bool = True,
    tolerance: float = 0.0,
    relative: bool = False,
    path: str = "$",
) -> Grade:
    """Whether the answer says what the case (or, here, `expect`) expects.

    `contains`: every expected text stands in it, as whole words unless told otherwise. `exact`: it equals one of them.
    `regex`: every pattern is found in it. `numeric`: a number of it is within `tolerance` of the expected one (a share
    of that where `relative`). `json_path`: the answer is JSON and the value at `path` equals the expected one, numbers
    within `tolerance`. Upper and lower case are the same unless `ignore_case` is off; so is white space of any kind.
    """
    wanted = sample.expect if expect is None else expect
    if wanted is None:
        return Grade(passed=None, reason="nothing is expected")
    match mode:
        case "contains":
            missing = [
                one
                for one in _texts(wanted)
                if not contains(sample.answer, one, ignore_case=ignore_case, whole_words=whole_words)
            ]
            return _grade(missing, "doesn't contain")
        case "exact":
            answer = _folded(sample.answer, ignore_case)
            if any(_folded(one, ignore_case) == answer for one in _texts(wanted)):
                return Grade(passed=True)
            return _grade(_texts(wanted), "isn't")
        case "regex":
            missing = [one for one in _texts(wanted) if not _pattern(one, ignore_case).search(sample.answer)]
            return _grade(missing, "doesn't match")
        case "numeric":
            return _numeric(sample.answer, wanted, tolerance, relative)
        case "json_path":
            return _at_path(sample.answer, path, wanted, tolerance, relative)


def contains(text: str, part: str, *, ignore_case: bool = True, whole_words: bool = True) -> bool:
    """Whether `part` stands in `text`: `EU` doesn't in `museum`, `14 days` not in `114 days` nor in `1.14 days`.

    White space, quotation marks and dashes of any kind are alike.
    """
    found = find_quote(part, text, whole=whole_words)
    if found is None or ignore_case:
        return found is not None
    return found.exact or text[found.start : found.end].split() == part.split()


def decode_answer(answer: str) -> Any:
    """The answer as a JSON value, with or without a code fence around it. Raises ValueError where it is none."""
    fenced = _FENCED.match(answer)
    return json.loads(fenced[1] if fenced else answer)


def _grade(missing: list[str], verb: str) -> Grade:
    if not missing:
        return Grade(passed=True)
    return Grade(passed=False, reason=f"the answer {verb} {', '.join(map(repr, missing))}")


def _texts(wanted: Any) -> list[str]:
    return [str(one) for one in (wanted if isinstance(wanted, list) else [wanted])]


def _folded(text: str, ignore_case: bool) -> str:
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    return text.casefold() if ignore_case else text


@cache
def _pattern(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE if ignore_case else re.NOFLAG)
    except re.error as error:
        raise ConfigError(f"{pattern!r} is no regular expression: {error.msg}") from None


def _numeric(answer: str, wanted: Any, tolerance: float, relative: bool) -> Grade:
    target = _number(wanted)
    if target is None:
        raise ConfigError("a numeric match needs a number in `expect`")
    numbers = [
        float(value)
        for item in read_values(answer)
        if item.kind in ("number", "unit")
        for value in item.values
        if _is_number(value)
    ]
    if any(_close(number, target, tolerance, relative) for number in numbers):
        return Grade(passed=True)
    return Grade(passed=False, reason=f"no number of the answer is {target:g} (within {tolerance:g})")


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    found = [item for item in read_values(str(value)) if item.kind in ("number", "unit") and _is_number(item.value)]
    return float(found[0].value) if found else None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _close(number: float, target: float, tolerance: float, relative: bool) -> bool:
    allowed = tolerance * abs(target) if relative else tolerance
    return math.isclose(number, target, rel_tol=1e-12, abs_tol=allowed)


def _at_path(answer: str, path: str, wanted: Any, tolerance: float, relative: bool) -> Grade:
    try:
        data = decode_answer(answer)
    except (ValueError, RecursionError):
        return Grade(passed=False, reason="the answer is not JSON")
    found = [match.value for match in json_path(path).find(data)]
    if not found:
        return Grade(passed=False, reason=f"the answer has nothing at {path}")
    if any(_equal(value, wanted, tolerance, relative) for value in found):
        return Grade(passed=True)
    return Grade(passed=False, reason=f"the value at {path} is another one")


@cache
def json_path(path: str) -> Any:
    """The JSON path, compiled. Raises `ConfigError`."""
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.ext.parser import parse

    try:
        return parse(path)
    except (JSONPathError, ValueError) as error:
        raise ConfigError(f"{path!r} is no JSON path: {str(error).partition(chr(10))[0]}") from None


def _equal(value: Any, wanted: Any, tolerance: float, relative: bool) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        return _close(float(value), float(wanted), tolerance, relative)
    if isinstance(value, Mapping) and isinstance(wanted, Mapping):
        return value.keys() == wanted.keys() and all(
            _equal(value[key], wanted[key], tolerance, relative) for key in wanted
        )
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(
            _equal(one, other, tolerance, relative) for one, other in zip(value, wanted, strict=True)
        )
    return bool(value == wanted)
