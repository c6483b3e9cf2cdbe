"""Reported tokens: each in one bucket, whatever the provider's arithmetic."""

from typing import Any

import pytest

from groundwire.scorer import Usage, read_usage

OPENAI = {"prompt_tokens": 1_000, "completion_tokens": 300, "total_tokens": 1_300}
READ = {"prompt_tokens_details": {"cached_tokens": 400}, "completion_tokens_details": {"reasoning_tokens": 100}}
RESPONSES = {
    "input_tokens": 1_000,
    "input_tokens_details": {"cached_tokens": 400},
    "output_tokens": 300,
    "output_tokens_details": {"reasoning_tokens": 100},
}
ANTHROPIC = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 500,
    "cache_read_input_tokens": 400,
    "output_tokens": 300,
}
GEMINI = {
    "promptTokenCount": 1_000,
    "cachedContentTokenCount": 400,
    "candidatesTokenCount": 200,
    "thoughtsTokenCount": 100,
}
LANGFUSE = {"input": 600, "input_cached_tokens": 400, "output": 200, "output_reasoning_tokens": 100}
OWN = {"input_tokens": 600, "cached_tokens": 400, "output_tokens": 200, "reasoning_tokens": 100}


@pytest.mark.parametrize(
    ("reported", "buckets"),
    [
        (OPENAI, (1_000, 0, 300, 0)),
        ({**OPENAI, **READ}, (600, 400, 200, 100)),
        (RESPONSES, (600, 400, 200, 100)),
        (ANTHROPIC, (600, 400, 300, 0)),
        (GEMINI, (600, 400, 200, 100)),
        (LANGFUSE, (600, 400, 200, 100)),
        (OWN, (600, 400, 200, 100)),
        (Usage(input_tokens=6, cached_tokens=4, output_tokens=2, reasoning_tokens=1).model_dump(), (6, 4, 2, 1)),
        ({"input_tokens": 5, "output_tokens": 0}, (5, 0, 0, 0)),
    ],
)  # fmt: skip
def test_each_token_stands_in_one_bucket(reported: dict[str, Any], buckets: tuple[int, ...]) -> None:
    found = read_usage(reported)
    assert found is not None
    assert (found.input_tokens, found.cached_tokens, found.output_tokens, found.reasoning_tokens) == buckets


@pytest.mark.parametrize(
    "reported",
    [
        {},
        {"input_tokens": 5},
        {"input_tokens": -1, "output_tokens": 2},
        {"input_tokens": True, "output_tokens": 2},
        {"input_tokens": "5", "output_tokens": 2},
        {"input_tokens": 5.5, "output_tokens": 2},
        {"input_tokens": float("nan"), "output_tokens": 2},
        {**OPENAI, "prompt_tokens_details": {"cached_tokens": 2_000}},
    ],
)
def test_what_is_no_count_is_none(reported: dict[str, Any]) -> None:
    assert read_usage(reported) is None
