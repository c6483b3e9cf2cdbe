"""Which traces are judged: a pure, nested, stable draw by the hash of a key."""

import hashlib

from groundwire.connectors import Trace
from groundwire.jobs.filters import matches
from groundwire.jobs.spec import EvaluatorSpec, Stratum

__all__ = ["draw", "inclusion", "inclusion_bound"]

SALT = b"groundwire:sampling:v1\0"


def draw(key: str) -> float:
    """A number in [0, 1) for a trace id (a session id for sessions): the same everywhere and after a restart.

    A key is sampled at rate `r` when its draw is below `r`, so the sample of a lower rate lies inside that of a higher.
    """
    digest = hashlib.sha256(SALT + key.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def inclusion(trace: Trace, evaluator: EvaluatorSpec, *, rate: float | None = None) -> float:
    """The probability with which sampling lets a trace in: the highest rate among the strata it is in.

    `rate` replaces the evaluator's own `sample` (a backfill's `--sample`); strata keep theirs.
    """
    base = evaluator.sample if rate is None else rate
    return max([base, *(stratum.sample for stratum in evaluator.strata if _in(trace, stratum))])


def inclusion_bound(evaluator: EvaluatorSpec, *, rate: float | None = None) -> float:
    """The highest rate that any trace of an evaluator can have, where nothing is known of the trace but its id."""
    return max([evaluator.sample if rate is None else rate, *(stratum.sample for stratum in evaluator.strata)])


def _in(trace: Trace, stratum: Stratum) -> bool:
    if stratum.errors and not trace.has_error:
        return False
    if stratum.tags and not set(stratum.tags) & set(trace.tags):
        return False
    if stratum.negative_feedback and not any(trace.feedback.get(key, 1.0) <= 0 for key in stratum.negative_feedback):
        return False
    return stratum.where is None or matches(trace, stratum.where)
