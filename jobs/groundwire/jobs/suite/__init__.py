"""Suites of cases, run against a function or recorded outputs."""

from groundwire.jobs.suite.grading import Grading
from groundwire.jobs.suite.graduation import graduate, write_whole
from groundwire.jobs.suite.judging import open_suite_judge
from groundwire.jobs.suite.junit import as_junit
from groundwire.jobs.suite.output import Fault, Output, read_output
from groundwire.jobs.suite.run import SuiteRun, run_suite, sample_of
from groundwire.jobs.suite.spec import Suite, SuiteSpec, json_lines, load_suite
from groundwire.jobs.suite.target import FunctionTarget, RecordedTarget, Target

__all__ = [
    "Fault",
    "FunctionTarget",
    "Grading",
    "Output",
    "RecordedTarget",
    "Suite",
    "SuiteRun",
    "SuiteSpec",
    "Target",
    "as_junit",
    "graduate",
    "json_lines",
    "load_suite",
    "open_suite_judge",
    "read_output",
    "run_suite",
    "sample_of",
    "write_whole",
]
