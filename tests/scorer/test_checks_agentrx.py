"""The measurement of the number check on real agents, on a trace small enough to count by hand."""

from pathlib import Path
from typing import Any

from tests.benchmarks.agentrx_numbers import load, measure, planted


def _call(arguments: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "get", "arguments": arguments}}]}


def _trace(reward: float, answer: str) -> dict[str, Any]:
    return {
        "task_id": 7,
        "reward": reward,
        "traj": [
            {"role": "system", "content": "Refunds take 5 to 7 days."},
            {"role": "user", "content": "I am at zip 19122."},
            _call('{"zip": "19122", "qty": 31}'),
            {"role": "tool", "content": '{"price": 46.85, "fee": 3.15}'},
            {"role": "assistant", "content": answer},
        ],
    }


def test_every_number_before_the_message_counts_and_sums_are_derived() -> None:
    good = _trace(1.0, "Zip 19122: 31 pieces at $46.85, $50.00 with the fee, in 5 to 7 days.")
    bad = _trace(0.0, "It costs $46.58, and $99 more, in 5 days.")
    rates = measure([good, bad])
    assert rates.messages == {True: 1, False: 1}
    assert rates.share(successful=True) == 0.0
    assert rates.share(successful=False) == 1.0
    assert [(flag.task, flag.message, flag.text) for flag in rates.flagged] == [(7, 4, "$46.58"), (7, 4, "$99")]


def test_planted_wrong_numbers_are_counted_by_size() -> None:
    assert planted([_trace(1.0, "It costs $46.85 at zip 19122.")]) == {
        "amounts": (1, 1),
        "large": (1, 1),
        "small": (0, 0),
    }


def test_an_absent_data_set_is_none(tmp_path: Path) -> None:
    assert load(tmp_path / "absent.json") is None
