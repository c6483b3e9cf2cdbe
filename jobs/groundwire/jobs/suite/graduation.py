"""A capability case graduates: what the target has learnt becomes what it must not forget."""

import json
import os
import tempfile
from pathlib import Path

from groundwire.jobs.suite.spec import Suite
from groundwire.scorer import ConfigError, SuiteResults, tally_cases

__all__ = ["graduate", "write_whole"]


def graduate(suite: Suite, case_id: str, results: SuiteResults | None) -> None:
    """Make a capability case a regression case, in its own line of the file; every other byte stays.

    With results, it must have passed in each of their trials. Raises `ConfigError` otherwise, and for a case that
    isn't there or is no capability case.
    """
    case = next((case for case in suite.cases if case.id == case_id), None)
    if case is None:
        raise ConfigError(f"{suite.cases_path}: there is no case {case_id!r}")
    if case.purpose == "regression":
        raise ConfigError(f"{suite.cases_path}: {case_id!r} is a regression case already")
    if results is not None:
        _require_passed(suite, case_id, results)
    text = suite.cases_path.read_bytes().decode("utf-8")
    lines = text.split("\n")
    for number, line in enumerate(lines):
        data = json.loads(line) if line.strip() else {}
        if str(data.get("id")) == case_id:
            ending = "\r" if line.endswith("\r") else ""
            lines[number] = json.dumps({**data, "purpose": "regression"}, ensure_ascii=False) + ending
    write_whole(suite.cases_path, "\n".join(lines))


def _require_passed(suite: Suite, case_id: str, results: SuiteResults) -> None:
    case = next(case for case in suite.cases if case.id == case_id)
    if results.cases.get(case_id) != case.digest(suite.sources):
        raise ConfigError(f"the results are not of {case_id!r} as it is now; run the suite again")
    found = next(one for one in tally_cases(results.rows) if one.case == case_id)
    if found.passed < found.trials:
        raise ConfigError(
            f"{case_id!r} passed {found.passed} of {found.trials} trials; it graduates when it passes all"
        )


def write_whole(path: Path, text: str) -> None:
    """Write a file at once or not at all. Raises `ConfigError` where its folder can't be written to."""
    try:
        handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be written'}") from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
