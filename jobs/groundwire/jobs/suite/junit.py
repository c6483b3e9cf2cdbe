"""Results as JUnit XML: one test case a trial, so that a build server lists what failed and why."""

import re
from xml.etree import ElementTree as ET

from groundwire.scorer import SuiteResults, TrialRow

__all__ = ["as_junit"]

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 can't hold, escaped or not."""


def as_junit(results: SuiteResults) -> str:
    """The document. A trial that didn't pass is a failure, one without a grade an error; the answer isn't in it."""
    name = _clean(results.suite)
    rows = results.rows
    suite = ET.Element(
        "testsuite",
        name=name,
        tests=str(len(rows)),
        failures=str(sum(row.passed is False for row in rows)),
        errors=str(sum(row.passed is None for row in rows)),
        timestamp=results.started_at.isoformat(),
        time=f"{sum(row.latency_seconds or 0 for row in rows):.3f}",
    )
    for row in rows:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"{name}.{row.purpose}.{row.kind}",
            name=_clean(f"{row.case} trial {row.trial}"),
            time=f"{row.latency_seconds or 0:.3f}",
        )
        if row.passed is False:
            ET.SubElement(case, "failure", message=_clean(_why(row)), type="failed")
        elif row.passed is None:
            message = _clean(f"{row.reason}: {row.explanation}")
            ET.SubElement(case, "error", message=message, type=row.reason or "unknown")
    document = ET.Element("testsuites", name=name)
    document.append(suite)
    ET.indent(document)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(document, encoding="unicode") + "\n"


def _why(row: TrialRow) -> str:
    return "; ".join(f"{grade.grader}: {grade.reason}" for grade in row.grades if grade.passed is False)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
