"""Suites: cases with right answers, what a run of them gave, and whether a candidate may ship."""

from groundwire.scorer.suites.agreement import JudgeAgreement, judge_agreement
from groundwire.scorer.suites.case import Case, CaseKind, Purpose
from groundwire.scorer.suites.gate import GateCheck, GateReport, decide_gate, require_comparable
from groundwire.scorer.suites.markdown import gate_markdown
from groundwire.scorer.suites.results import GradeRow, JudgeRow, SuiteResults, TrialRow, suite_fingerprint
from groundwire.scorer.suites.rules import GateConfig, RiseRule, ShareRule
from groundwire.scorer.suites.summary import CaseTally, Rate, Summary, summarise_trials, tally_cases

__all__ = [
    "Case",
    "CaseKind",
    "CaseTally",
    "GateCheck",
    "GateConfig",
    "GateReport",
    "GradeRow",
    "JudgeAgreement",
    "JudgeRow",
    "Purpose",
    "Rate",
    "RiseRule",
    "ShareRule",
    "SuiteResults",
    "Summary",
    "TrialRow",
    "decide_gate",
    "gate_markdown",
    "judge_agreement",
    "require_comparable",
    "suite_fingerprint",
    "summarise_trials",
    "tally_cases",
]
