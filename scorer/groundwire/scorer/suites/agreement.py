"""A suite's judge held against people, trial by trial."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.stats import Confusion, cohen_kappa
from groundwire.scorer.suites.results import TrialRow

__all__ = ["JudgeAgreement", "judge_agreement"]

PASSES = 0.5
"""Least score with which a judge passes an answer."""


class JudgeAgreement(BaseModel):
    """How far a judge and people agree on the same trials."""

    model_config = ConfigDict(frozen=True)

    n: int
    agreement: float
    """Share of the labelled trials on which both say the same, in [0, 1]."""
    kappa: float | None
    """Cohen's; None where it is undefined, because both gave one and the same verdict throughout."""
    low: float | None
    """Of kappa's 95 % interval."""
    high: float | None
    missed: tuple[str, ...]
    """Cases that the judge passed and people failed."""
    refused: tuple[str, ...]
    """Cases that the judge failed and people passed."""
    unjudged: int
    """Labelled trials without a judge's score; they are not counted."""


def judge_agreement(rows: Sequence[TrialRow], labels: Mapping[tuple[str, int], bool]) -> JudgeAgreement:
    """Compare; `labels` say by case and trial whether people pass the answer.

    Raises `ConfigError` for labels of trials that don't exist, and where no labelled trial has a judge's score.
    """
    by_trial = {(row.case, row.trial): row for row in rows}
    strange = sorted(labels.keys() - by_trial.keys())
    if strange:
        case, trial = strange[0]
        raise ConfigError(f"labels: the results have no trial {trial} of {case!r}")
    pairs: list[tuple[str, bool, bool]] = []
    for key, human in labels.items():
        judged = by_trial[key].judge
        if judged is not None and judged.score is not None:
            pairs.append((key[0], human, judged.score >= PASSES))
    if not pairs:
        raise ConfigError("labels: no labelled trial has a judge's score; give the suite a [judge]")
    table = Confusion.of([(_word(human), _word(judge)) for _, human, judge in pairs], labels=("fail", "pass"))
    kappa = cohen_kappa(table)
    return JudgeAgreement(
        n=len(pairs),
        agreement=kappa.agreement,
        kappa=kappa.value,
        low=kappa.interval.low if kappa.interval is not None else None,
        high=kappa.interval.high if kappa.interval is not None else None,
        missed=tuple(dict.fromkeys(case for case, human, judge in pairs if judge and not human)),
        refused=tuple(dict.fromkeys(case for case, human, judge in pairs if human and not judge)),
        unjudged=len(labels) - len(pairs),
    )


def _word(passed: bool) -> str:
    return "pass" if passed else "fail"
