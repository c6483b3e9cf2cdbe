"""Calibration: the judge held against what people said, and probed for what agreement hides."""

from groundwire.jobs.calibration.agreement import FEWEST, Agreement, Calibration, Difference, calibrate, judge_of
from groundwire.jobs.calibration.labels import ClaimLabel, HumanLabel, RowIndex, Verdict, read_labels, verdict_of
from groundwire.jobs.calibration.probes import Bias, NoCache, OpenJudge, Probes, Retest, run_probes
from groundwire.jobs.calibration.twins import TwinJudge, padded, shuffled

__all__ = [
    "FEWEST",
    "Agreement",
    "Bias",
    "Calibration",
    "ClaimLabel",
    "Difference",
    "HumanLabel",
    "NoCache",
    "OpenJudge",
    "Probes",
    "Retest",
    "RowIndex",
    "TwinJudge",
    "Verdict",
    "calibrate",
    "judge_of",
    "padded",
    "read_labels",
    "run_probes",
    "shuffled",
    "verdict_of",
]
