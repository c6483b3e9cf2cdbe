"""What an application reports of its tokens, read so that each token stands in one bucket only."""

from collections.abc import Mapping
from typing import Any

from groundwire.scorer.spend import Usage

__all__ = ["read_usage"]


def read_usage(reported: Mapping[str, Any]) -> Usage | None:
    """The buckets of one reported usage; None where input and output aren't both told, or a count is no count.

    Reads OpenAI's two APIs (cached and reasoning tokens lie within input and output), Anthropic's (cached ones beside
    the input; those written to the cache count as input), Gemini's (cached within the prompt, thoughts beside the
    candidates), Langfuse's details and groundwire's own `Usage` (every bucket by itself).
    """
    if "promptTokenCount" in reported or "prompt_token_count" in reported:
        return _gemini(reported)
    if "cache_read_input_tokens" in reported or "cache_creation_input_tokens" in reported:
        written = _count(reported, "cache_creation_input_tokens", absent=0)
        read = _count(reported, "cache_read_input_tokens", absent=0)
        plain = _count(reported, "input_tokens", "input")
        return _buckets(None if plain is None or written is None else plain + written, read, *_output(reported))
    if "cached_tokens" in reported or "reasoning_tokens" in reported:
        return _buckets(
            _count(reported, "input_tokens"),
            _count(reported, "cached_tokens", absent=0),
            _count(reported, "output_tokens"),
            _count(reported, "reasoning_tokens", absent=0),
        )
    if "input" in reported or "output" in reported:
        cached = _count(reported, "input_cached_tokens", "input_cache_read", absent=0)
        return _buckets(_count(reported, "input"), cached, *_output(reported))
    prompt = _count(reported, "prompt_tokens", "input_tokens")
    details = reported.get("prompt_tokens_details") or reported.get("input_tokens_details") or {}
    cached = _count(details, "cached_tokens", absent=0) if isinstance(details, Mapping) else 0
    return _buckets(_less(prompt, cached), cached, *_output(reported))


def _output(reported: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Output without reasoning, and reasoning."""
    if "output_reasoning_tokens" in reported:
        return _count(reported, "output"), _count(reported, "output_reasoning_tokens")
    whole = _count(reported, "completion_tokens", "output_tokens", "output")
    details = reported.get("completion_tokens_details") or reported.get("output_tokens_details") or {}
    reasoning = _count(details, "reasoning_tokens", absent=0) if isinstance(details, Mapping) else 0
    return _less(whole, reasoning), reasoning


def _gemini(reported: Mapping[str, Any]) -> Usage | None:
    prompt = _count(reported, "promptTokenCount", "prompt_token_count")
    cached = _count(reported, "cachedContentTokenCount", "cached_content_token_count", absent=0)
    output = _count(reported, "candidatesTokenCount", "candidates_token_count", absent=0)
    thoughts = _count(reported, "thoughtsTokenCount", "thoughts_token_count", absent=0)
    return _buckets(_less(prompt, cached), cached, output, thoughts)


def _less(whole: int | None, part: int | None) -> int | None:
    """What is left of a count without the part that lies within it; None where the part is greater."""
    if whole is None or part is None or part > whole:
        return None
    return whole - part


def _count(reported: Mapping[str, Any], *names: str, absent: int | None = None) -> int | None:
    value = next((reported[name] for name in names if reported.get(name) is not None), absent)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 0 and value == int(value) else None


def _buckets(plain: int | None, cached: int | None, output: int | None, reasoning: int | None) -> Usage | None:
    if plain is None or cached is None or output is None or reasoning is None:
        return None
    return Usage(input_tokens=plain, cached_tokens=cached, output_tokens=output, reasoning_tokens=reasoning)
