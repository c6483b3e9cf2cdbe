"""Is the answer of the right form, cheap enough, quick enough?"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.graders.answers import decode_answer
from groundwire.scorer.graders.sample import Grade, Sample
from groundwire.scorer.spend import MICRO

__all__ = ["cost_under", "latency_under", "schema_valid"]


def schema_valid(sample: Sample, *, schema: Mapping[str, Any]) -> Grade:
    """Whether the answer is JSON that fits the JSON schema; a code fence around it is no fault.

    References to other documents are not followed.
    """
    validator = _validator(json.dumps(schema, sort_keys=True))
    try:
        data = decode_answer(sample.answer)
    except (ValueError, RecursionError):
        return Grade(passed=False, reason="the answer is not JSON")
    fault = min(validator.iter_errors(data), key=lambda error: (len(error.path), error.json_path), default=None)
    if fault is None:
        return Grade(passed=True)
    return Grade(passed=False, reason=f"{fault.json_path} breaks the schema's {fault.validator}")


@cache
def _validator(schema: str) -> Any:
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry

    decoded = json.loads(schema)
    kind = validator_for(decoded)
    try:
        kind.check_schema(decoded)
    except SchemaError as error:
        raise ConfigError(f"schema_valid: the schema is none: {error.json_path} ({error.validator})") from None
    return kind(decoded, registry=Registry())


def cost_under(sample: Sample, *, usd: float) -> Grade:
    """Whether the answer cost no more than so many dollars."""
    if sample.micro_dollars is None:
        return Grade(passed=None, reason="its cost isn't known")
    cost = sample.micro_dollars / MICRO
    return Grade(passed=cost <= usd, reason=f"cost ${cost:.5f}, more than ${usd:g}" if cost > usd else "")


def latency_under(sample: Sample, *, seconds: float) -> Grade:
    """Whether the answer took no longer than so many seconds."""
    taken = sample.latency_seconds
    if taken is None:
        return Grade(passed=None, reason="its latency isn't known")
    return Grade(
        passed=taken <= seconds, reason=f"took {taken:.2f} s, more than {seconds:g} s" if taken > seconds else ""
    )
