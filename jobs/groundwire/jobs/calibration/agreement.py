"""How far the judge agrees with people, on a set of rows that may be pooled."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, JsonValue

from groundwire.jobs.calibration.labels import ClaimLabel, HumanLabel, RowIndex, Verdict, verdict_of
from groundwire.scorer import (
    Claim,
    ConfigError,
    Confusion,
    Interval,
    Kappa,
    PartitionType,
    PrecisionRecall,
    Row,
    Threshold,
    best_threshold,
    cohen_kappa,
    precision_recall,
    weighted_kappa,
    weighted_proportion,
    weighted_tally,
    wilson_interval,
)

__all__ = ["FEWEST", "Agreement", "Calibration", "Difference", "calibrate", "judge_of"]

FEWEST = 10
"""Least number of labels that a kappa is made of: below it the interval spans nearly everything."""

_VERDICTS = ("grounded", "hallucinated")


class Agreement(BaseModel):
    """Labels of people against labels of the judge."""

    model_config = ConfigDict(frozen=True)

    kappa: Kappa
    agreement_interval: Interval
    """Wilson's, of `kappa.agreement`."""
    confusion: Confusion
    """Rows are what people said, columns what the judge said."""
    hallucinated: PrecisionRecall
    """Precision and recall of the judge's `hallucinated`."""


class Difference(BaseModel):
    """A row on which judge and people differ."""

    model_config = ConfigDict(frozen=True)

    row_id: str
    trace_id: str
    people: Verdict
    judge: Verdict
    score: float | None
    people_reason: str
    judge_reason: str


class Calibration(BaseModel):
    """A judge held against people, over rows of one metric, partition type and configuration."""

    model_config = ConfigDict(frozen=True)

    metric: str
    metric_version: str
    partition_type: PartitionType
    config_fingerprint: str
    judge: Mapping[str, JsonValue]
    """The judge's identity: kind, model, prompt digest, parameters."""
    labels: int
    """Labels of this group's rows."""
    without_verdict: int = 0
    """Of these, rows where the judge gave neither a label nor a score; they count in no figure below."""
    changed: int = 0
    """Labels left out because the answer has changed since it was labelled."""
    rows: Agreement | None = None
    """Per row; None where the metric gives a number only."""
    weighted_agreement: float | None = None
    """Agreement per row, each weighted by the inverse of its probability to be labelled; None where all are alike."""
    weighted_interval: Interval | None = None
    claims: Agreement | None = None
    """Per claim, `hallucinated` or not; None where people labelled none, or one class only."""
    claims_found: int = 0
    """Of the claims that people labelled, those that the judge's rows have too."""
    claims_labelled: int = 0
    scores: Kappa | None = None
    """Weighted kappa of people's numbers and the judge's scores."""
    threshold: Threshold | None = None
    """The score below which (above, where lower is better) `hallucinated` agrees best with people."""
    claim_threshold: Threshold | None = None
    """The probability of a claim from which `hallucinated` agrees best; None where the judge gives no probability."""
    lower_is_better: bool = False
    differences: tuple[Difference, ...] = ()

    @property
    def headline(self) -> Kappa | None:
        """The one figure to quote: per row; else of the numbers; else per claim; else at the best threshold."""
        if self.rows is not None:
            return self.rows.kappa
        if self.scores is not None:
            return self.scores
        if self.claims is not None:
            return self.claims.kappa
        if self.threshold is None:
            return None
        n = self.labels - self.changed - self.without_verdict
        return Kappa(n=n, agreement=self.threshold.agreement, value=self.threshold.kappa, interval=None)


def judge_of(row: Row) -> dict[str, JsonValue]:
    """The identity of the judge of a row, without what it said."""
    return {name: row.judge[name] for name in ("kind", "model", "prompt_digest", "parameters") if name in row.judge}


def calibrate(
    labels: Sequence[HumanLabel], rows: Iterable[Row], *, hashes: Mapping[str, str] | None = None
) -> tuple[list[Calibration], list[str]]:
    """One calibration for each group of rows that may be pooled, and a line for each group that has too few labels.

    `hashes` are the content hashes of the rows, by row id, where they are known. Raises `ConfigError` where a label is
    for a row that isn't there, where no group has ten labels, and where people gave one label only.
    """
    index = RowIndex(rows)
    groups: dict[tuple[str, str, str, str], dict[tuple[str, str], tuple[HumanLabel, Row]]] = {}
    missing = []
    for label in labels:
        found = index.rows_of(label)
        if not found:
            missing.append(label)
        for row in found:
            key = (row.metric, row.metric_version, row.partition_type, row.config_fingerprint)
            group = groups.setdefault(key, {})
            if label.key not in group or row.status not in ("skipped", "error"):  # a duplicate is no second answer
                group[label.key] = (label, row)
    if missing:
        first = missing[0].row_id or missing[0].partition_id or missing[0].trace_id
        raise ConfigError(
            f"{len(missing)} of {len(labels)} labels are for rows that aren't there, the first for {first!r}; "
            "name the rows, traces or evaluator that were labelled"
        )
    made, skipped, refused = [], [], []
    for (metric, version, level, fingerprint), group in sorted(groups.items()):
        pairs = list(group.values())
        named = f"{metric} {version} at {level} level, fingerprint {fingerprint}"
        if len(pairs) < FEWEST:
            skipped.append(f"{named}: {len(pairs)} labels, at least {FEWEST} are needed")
            continue
        try:
            made.append(_of_group(pairs, hashes or {}))
        except ConfigError as error:
            refused.append(f"{named}: {error}")
    if not made:
        raise ConfigError("; ".join((*refused, *skipped)))
    return made, [*refused, *skipped]


def _of_group(pairs: Sequence[tuple[HumanLabel, Row]], hashes: Mapping[str, str]) -> Calibration:
    kept = [
        (label, row)
        for label, row in pairs
        if not label.content_hash or hashes.get(row.row_id, label.content_hash) == label.content_hash
    ]
    first = pairs[0][1]
    lower = first.direction == "lower_is_better"
    judged = [(label, row, verdict) for label, row in kept if (verdict := verdict_of(row)) is not None]
    said = [(label.label, row, verdict, label) for label, row, verdict in judged if label.label is not None]
    scored = [(label, row) for label, row in kept if row.score is not None]
    numbers = [(label.score, row.score) for label, row in scored if label.score is not None and row.score is not None]
    cuts = [
        (row.score if lower else 1 - row.score, label.label == "hallucinated")
        for label, row in scored
        if label.label is not None and row.score is not None
    ]
    verdicts = [label.label for label, _ in kept if label.label is not None]
    claims = _claims(kept)
    claim_pairs = [(people, _of_claim(claim)) for people, claim in claims if claim.label is not None]
    probabilities = [
        (claim.probability, people == "hallucinated") for people, claim in claims if claim.probability is not None
    ]
    _check([str(verdict) for verdict in verdicts], len(kept), numbers, claim_pairs)
    weights = {label.inclusion for _, _, _, label in said}
    weighted = weighted_proportion(
        weighted_tally((people == judge, label.inclusion, label.key) for people, _, judge, label in said)
    )
    threshold = best_threshold(cuts)
    made = Calibration(
        metric=first.metric,
        metric_version=first.metric_version,
        partition_type=first.partition_type,
        config_fingerprint=first.config_fingerprint,
        judge=judge_of(first),
        labels=len(pairs),
        without_verdict=sum(verdict_of(row) is None and row.score is None for _, row in kept),
        changed=len(pairs) - len(kept),
        rows=_agreement([(str(people), judge) for people, _, judge, _ in said]) if len(said) >= FEWEST else None,
        weighted_agreement=weighted.value if weighted and len(weights) > 1 else None,
        weighted_interval=weighted.interval if weighted and len(weights) > 1 else None,
        claims=_agreement(claim_pairs) if len(claim_pairs) >= FEWEST and _classes(claim_pairs) > 1 else None,
        claims_found=len(claim_pairs),
        claims_labelled=sum(len(label.claims) for label, _ in kept),
        scores=weighted_kappa(numbers) if len(numbers) >= FEWEST else None,
        threshold=threshold if threshold is None or lower else _turned(threshold),
        claim_threshold=best_threshold(probabilities),
        lower_is_better=lower,
        differences=tuple(_difference(label, row, judge) for people, row, judge, label in said if people != judge),
    )
    if made.headline is None:
        raise ConfigError(
            f"the judge gave a verdict on {len(judged)} and a score on {len(scored)} of {len(kept)} labelled rows; "
            f"at least {FEWEST} are needed"
        )
    return made


def _check(
    verdicts: Sequence[str],
    kept: int,
    numbers: Sequence[tuple[float, float]],
    claims: Sequence[tuple[str, str]],
) -> None:
    """Refuse what no kappa can be made of."""
    if kept < FEWEST:
        raise ConfigError(f"{kept} labels are of answers that haven't changed since, at least {FEWEST} are needed")
    for what, said in (("labels", verdicts), ("claim labels", [people for people, _ in claims])):
        if len(said) >= FEWEST and len(set(said)) == 1:
            if what == "claim labels" and verdicts:
                continue  # the rows' figures stand without them
            other = next(verdict for verdict in _VERDICTS if verdict != said[0])
            raise ConfigError(
                f"all {len(said)} {what} say {said[0]}: kappa is undefined with one class; label {other} answers too"
            )
    if max(len(verdicts), len(numbers), len(claims)) < FEWEST:
        raise ConfigError(
            f"{len(verdicts)} labels, {len(numbers)} scores and {len(claims)} claims; "
            f"at least {FEWEST} of one kind are needed"
        )


def _classes(pairs: Sequence[tuple[str, str]]) -> int:
    return len({people for people, _ in pairs})


def _agreement(pairs: Sequence[tuple[str, str]]) -> Agreement:
    table = Confusion.of(pairs, labels=_VERDICTS)
    agreed = sum(people == judge for people, judge in pairs)
    return Agreement(
        kappa=cohen_kappa(table),
        agreement_interval=wilson_interval(agreed, len(pairs)),
        confusion=table,
        hallucinated=precision_recall(table, "hallucinated"),
    )


def _turned(threshold: Threshold) -> Threshold:
    """A cut of `1 - score` as one of the score."""
    return Threshold(at=round(1 - threshold.at, 12), agreement=threshold.agreement, kappa=threshold.kappa)


def _claims(pairs: Iterable[tuple[HumanLabel, Row]]) -> list[tuple[Verdict, Claim]]:
    """People's verdict on each claim that the judge's row has too, with the row's claim."""
    return [
        (said.verdict, claim)
        for label, row in pairs
        for said in label.claims
        if (claim := _same(said, row.claims)) is not None
    ]


def _of_claim(claim: Claim) -> Verdict:
    return "hallucinated" if claim.label == "hallucinated" else "grounded"


def _same(wanted: ClaimLabel, claims: Sequence[Claim]) -> Claim | None:
    for claim in claims:
        if wanted.start is not None and (claim.start, claim.end) == (wanted.start, wanted.end):
            return claim
    text = " ".join(wanted.text.split())
    return next((claim for claim in claims if text and " ".join(claim.text.split()) == text), None)


def _difference(label: HumanLabel, row: Row, judge: Verdict) -> Difference:
    bad = [claim for claim in row.claims if claim.label == "hallucinated"]
    reasons = [f"“{claim.text}”: {claim.reason}" if claim.reason else f"“{claim.text}”" for claim in bad]
    return Difference(
        row_id=row.row_id,
        trace_id=row.trace_id,
        people=label.label or "grounded",
        judge=judge,
        score=row.score,
        people_reason=label.reason,
        judge_reason="; ".join(reasons) or row.explanation or f"none of its {len(row.claims)} claims is hallucinated",
    )
