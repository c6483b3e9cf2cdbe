"""How often the number check flags real agents: AgentRx tau-retail, 100 traces with their rewards (MIT).

Every assistant message is checked against the whole trace before it: system prompt, user turns, tool calls and tool
results. A message is flagged where one of its numbers is neither found there nor derived from what is there. The
judge's facts (`judges.md`) have 5.8 % of messages of successful traces without arithmetic closure and 0.7 % with.

`python tests/benchmarks/agentrx_numbers.py` prints a table; `measure()` gives the figures to other code.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.evidence import Block, BlockKind, Shown, View

__all__ = ["DATA", "Flagged", "Rates", "answers", "load", "measure", "planted"]

DATA = (
    Path(__file__).parents[2].parent / "shared" / "data" / "agentrx" / "data" / "tau_retail" / "tau_dataset_full.json"
)
"""Where the traces are looked for: beside the checkout."""
NUMBER_KINDS = frozenset(("number", "unit"))
"""The kinds of check that count as a number."""
_FLAGS = frozenset(("contradicted", "not_found"))
_KINDS: dict[str, BlockKind] = {"system": "provided", "user": "user", "tool": "tool"}
_MOVED = str.maketrans("0123456789", "3456789012")


@dataclass(frozen=True, kw_only=True)
class Flagged:
    """One item of one message that the evidence before it doesn't hold."""

    task: int
    message: int
    """Index in the trace's list of messages."""
    successful: bool
    kind: str
    text: str
    around: str


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What was flagged, over messages of successful (reward 1) and of failed traces."""

    messages: dict[bool, int]
    """Assistant messages with text, by whether their trace succeeded."""
    flagged: tuple[Flagged, ...]

    def share(self, *, successful: bool, kinds: frozenset[str] = NUMBER_KINDS) -> float:
        """The share of messages with a flagged item of those kinds, in [0, 1]."""
        return self.count(successful=successful, kinds=kinds) / max(self.messages.get(successful, 0), 1)

    def count(self, *, successful: bool, kinds: frozenset[str] = NUMBER_KINDS) -> int:
        """How many messages have a flagged item of those kinds."""
        return len({(f.task, f.message) for f in self.flagged if f.successful == successful and f.kind in kinds})


def load(path: Path = DATA) -> list[dict[str, Any]] | None:
    """The traces, or None where the data set is absent."""
    if not path.is_file():
        return None
    traces: list[dict[str, Any]] = json.loads(path.read_text())
    return traces


def measure(traces: Sequence[dict[str, Any]]) -> Rates:
    """Check every assistant message of the traces against what stands before it."""
    messages = {True: 0, False: 0}
    flagged: list[Flagged] = []
    for trace in traces:
        successful = trace["reward"] == 1
        for position, text, view in answers(trace["traj"]):
            messages[successful] += 1
            for check in run_checks(text, EvidenceIndex.of(view)):
                if check.outcome in _FLAGS:
                    around = " ".join(text[max(0, check.start - 60) : check.end + 40].split())
                    flagged.append(
                        Flagged(
                            task=trace["task_id"],
                            message=position,
                            successful=successful,
                            kind=check.check,
                            text=check.text,
                            around=around,
                        )
                    )
    return Rates(messages=messages, flagged=tuple(flagged))


def planted(traces: Sequence[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """What closure costs: each number of the successful traces' messages that was found or derived is replaced by a
    wrong one (every digit moved on by three), one at a time.

    Flagged and planted numbers, for `amounts` (with decimals), `large` (20 and more) and `small` whole numbers.
    """
    counts = {"amounts": [0, 0], "large": [0, 0], "small": [0, 0]}
    for trace in traces:
        if trace["reward"] != 1:
            continue
        for _, text, view in answers(trace["traj"]):
            index = EvidenceIndex.of(view)
            for check in run_checks(text, index):
                if check.check != "number" or check.outcome in _FLAGS:
                    continue
                wrong = check.text.translate(_MOVED)
                changed = text[: check.start] + wrong + text[check.end :]
                after = [one for one in run_checks(changed, index) if one.start == check.start]
                size = "amounts" if "." in check.text else "large" if abs(float(check.value or 0)) >= 20 else "small"
                counts[size][1] += 1
                counts[size][0] += any(one.outcome in _FLAGS for one in after)
    return {size: (flagged, total) for size, (flagged, total) in counts.items()}


def answers(messages: Sequence[dict[str, Any]]) -> Iterator[tuple[int, str, View]]:
    """Each assistant message with text: its index, the text, and all evidence before it."""
    blocks: list[Block] = []
    for position, message in enumerate(messages):
        content = message.get("content")
        if message["role"] == "assistant":
            if content:
                yield position, content, View(shown=tuple(Shown(block=block, text=block.text) for block in blocks))
            blocks.extend(
                Block(name=f"C{position}", kind="provided", text=call["function"]["arguments"])
                for call in message.get("tool_calls") or ()
            )
        elif content:
            blocks.append(Block(name=f"E{position}", kind=_KINDS[message["role"]], text=content))


def main() -> int:
    """Print the figures, and with `--list` every flagged number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", nargs="*", metavar="KIND", help="print what was flagged, of these kinds")
    parser.add_argument("--planted", action="store_true", help="also measure how many planted wrong numbers are caught")
    options = parser.parse_args()
    traces = load()
    if traces is None:
        print(f"skipped: {DATA} is absent")
        return 0
    rates = measure(traces)
    for successful in (True, False):
        name = "successful" if successful else "failed"
        print(f"{name:<11} {rates.messages[successful]:>4} messages", end="")
        for kind in ("number", "unit", "date", "identifier", "email", "url", "quotation", "name"):
            print(f"  {kind} {rates.count(successful=successful, kinds=frozenset((kind,)))}", end="")
        print(f"  numbers and units {rates.share(successful=successful):.2%}")
    if options.planted:
        for size, (flagged, total) in planted(traces).items():
            print(f"planted wrong numbers, {size}: {flagged} of {total} flagged ({flagged / max(total, 1):.1%})")
    for flag in rates.flagged if options.list is not None else ():
        if flag.kind in (options.list or NUMBER_KINDS):
            where = f"{flag.successful!s:<5} {flag.task:>3}.{flag.message:<3}"
            print(f"{where} {flag.kind:<10} {flag.text!r:<24} {flag.around}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
