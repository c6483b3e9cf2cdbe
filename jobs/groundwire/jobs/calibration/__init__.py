"""Calibration: the judge held against what people said, and probed for what agreement hides."""

from groundwire.jobs.calibration.agreement import FEWEST, Agreement, Calibration, Difference, calibrate, judge_of
from groundwire.jobs.calibration.annotated import Annotated, annotated_labels, meaning
from groundwire.jobs.calibration.asking import Asked, Ending, Question, ask_all
from groundwire.jobs.calibration.drawing import Candidate, Drawn, draw, stratum_of
from groundwire.jobs.calibration.labels import ClaimLabel, HumanLabel, RowIndex, Verdict, read_labels, verdict_of
from groundwire.jobs.calibration.probes import Bias, OpenJudge, Probes, Retest, require_budget, run_probes
from groundwire.jobs.calibration.stored import (
    Fetched,
    Standing,
    annotate,
    candidates_of,
    fetch,
    judge_opener,
    keep,
    labelled_rows,
    rows_with,
    standing,
)
from groundwire.jobs.calibration.twins import TwinJudge, padded, shuffled

__all__ = [
    "FEWEST",
    "Agreement",
    "Annotated",
    "Asked",
    "Bias",
    "Calibration",
    "Candidate",
    "ClaimLabel",
    "Difference",
    "Drawn",
    "Ending",
    "Fetched",
    "HumanLabel",
    "OpenJudge",
    "Probes",
    "Question",
    "Retest",
    "RowIndex",
    "Standing",
    "TwinJudge",
    "Verdict",
    "annotate",
    "annotated_labels",
    "ask_all",
    "calibrate",
    "candidates_of",
    "draw",
    "fetch",
    "judge_of",
    "judge_opener",
    "keep",
    "labelled_rows",
    "meaning",
    "padded",
    "read_labels",
    "require_budget",
    "rows_with",
    "run_probes",
    "shuffled",
    "standing",
    "stratum_of",
    "verdict_of",
]
