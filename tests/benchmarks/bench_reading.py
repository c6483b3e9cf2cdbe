"""How fast traces are read and partitioned, as a ratio to `json.loads` of the same bytes in the same run.

Generated agent traces of 10, 100 and 1,000 spans as Langfuse rows and as OTLP, one export a line. Each figure is the
best of several runs in CPU time, so that other work on the machine matters little. The work must grow linearly: the
megabytes read per second at 1,000 spans may not fall below half of what they are at 10.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from groundwire.connectors import Trace, cut, read_traces

__all__ = ["growth", "main", "run"]

SIZES = (10, 100, 1_000)
"""Spans of a trace."""
SPANS = 4_000
"""Spans of a file, so that each size reads about as many bytes."""
REPEATS = 3
LEAST_SHARE = 0.5
"""Below this share of the speed per byte the work doesn't grow linearly."""
_START = 1_796_067_930_000


def main() -> None:
    """Print the table and the figures as JSON."""
    figures = run()
    print(f"{'format':<10}{'spans':>7}{'traces/s':>10}{'spans/s':>10}{'MB/s':>7}{'x json.loads':>14}")
    for figure in figures:
        print(
            f"{figure['format']:<10}{figure['spans']:>7,}{figure['traces_per_second']:>10,.1f}"
            f"{figure['spans_per_second']:>10,.0f}{figure['megabytes_per_second']:>7.1f}{figure['ratio']:>14.1f}"
        )
    for name, share in growth(figures).items():
        print(
            f"{name}: at {SIZES[-1]:,} spans {share:.2f} of the speed per byte at {SIZES[0]}: "
            f"{'linear' if share >= LEAST_SHARE else 'NOT linear'}"
        )
    print(json.dumps({"benchmark": "reading", "figures": figures, "growth": growth(figures)}))


def growth(figures: list[dict[str, Any]]) -> dict[str, float]:
    """For each format the speed per byte in the largest traces over that in the smallest; 1.0 is exactly linear."""
    speeds = {(figure["format"], figure["spans"]): figure["megabytes_per_second"] for figure in figures}
    return {name: speeds[name, SIZES[-1]] / speeds[name, SIZES[0]] for name in WRITERS}


def run(*, spans: int = SPANS, repeats: int = REPEATS) -> list[dict[str, Any]]:
    """One figure for each format and size of trace; about `spans` in a file, best of `repeats`."""
    return [_measure(name, size, max(spans // size, 1), repeats) for name in WRITERS for size in SIZES]


def _measure(name: str, size: int, count: int, repeats: int) -> dict[str, Any]:
    lines = list(WRITERS[name](count, size))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines))
        seconds = _best(lambda: _read(path, count), repeats)
    loading = _best(lambda: [json.loads(line) for line in lines], repeats)
    return {
        "format": name,
        "spans": size,
        "traces_per_second": count / seconds,
        "spans_per_second": count * size / seconds,
        "megabytes_per_second": sum(map(len, lines)) / 1e6 / seconds,
        "ratio": seconds / loading,
    }


def _read(path: Path, expected: int) -> None:
    traces = 0
    for item in read_traces(path):
        if isinstance(item, Trace):
            traces += 1
            cut(item, "trace")
            cut(item, "span")
    if traces != expected:
        raise RuntimeError(f"{traces} traces were read where {expected} were written")


def _best(work: Callable[[], object], repeats: int) -> float:
    """The least CPU seconds of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def _steps(trace: int, spans: int) -> Iterator[tuple[str, str, list[dict[str, Any]] | None, Any]]:
    """The steps of one agent run below its root: kind, name, a call's messages, and what came out.

    Model calls and tool runs take turns; each call is shown the question and the last four results, so that the bytes
    of a trace grow with its spans and no faster.
    """
    shown: list[dict[str, Any]] = []
    for step in range(1, spans):
        call = f"call_{trace}_{step}"
        if step % 2 == 0:
            result = json.dumps({"order": step, "status": "shipped", "note": f"parcel {step} left the depot " * 6})
            shown = [
                *shown,
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": call, "type": "function", "function": {"name": "lookup", "arguments": '{"id": 1}'}}]},
                {"role": "tool", "tool_call_id": call, "content": result},
            ][-8:]  # fmt: skip
            yield "tool", "lookup", None, result
        else:
            asked = [
                {"role": "system", "content": "You help. " * 20},
                {"role": "user", "content": f"Where is {trace}?"},
            ]
            yield "generation", "chat", [*asked, *shown], {"role": "assistant", "content": f"Order {step} has shipped."}


def langfuse_lines(count: int, spans: int) -> Iterator[str]:
    """`count` traces of `spans` observations, one row a line, the root last."""
    for trace in range(count):
        trace_id = f"{trace:032x}"
        rows = [("agent", "support", None, "Order shipped."), *_steps(trace, spans)]
        for number, (kind, name, messages, output) in reversed(list(enumerate(rows))):
            yield json.dumps(
                {
                    "id": f"{number:016x}", "traceId": trace_id, "type": kind.upper(), "name": name, "level": "DEFAULT",
                    "parentObservationId": f"{0:016x}" if number else None, "environment": "production",
                    "startTime": f"2026-11-30T10:{number // 60000:02d}:{number // 1000 % 60:02d}.{number % 1000:03d}Z",
                    "endTime": "2026-11-30T11:00:00.000Z", "model": "gpt-4o" if kind == "generation" else "",
                    "input": json.dumps(messages) if messages else '{"id": 1}', "metadata": {"k": "v"},
                    "output": output if isinstance(output, str) else json.dumps(output), "tags": ["prod"],
                }
            )  # fmt: skip


def otlp_lines(count: int, spans: int) -> Iterator[str]:
    """`count` export requests, each of one trace with `spans` spans."""
    for trace in range(count):
        exported = []
        for number, (kind, name, messages, output) in enumerate(
            [("agent", "support", None, "Order shipped."), *_steps(trace, spans)]
        ):
            attributes = {
                "langfuse.observation.type": kind,
                "langfuse.observation.input": json.dumps(messages) if messages else '{"id": 1}',
                "langfuse.observation.output": output if isinstance(output, str) else json.dumps(output),
            }
            exported.append(
                {
                    "traceId": f"{trace + 1:032x}", "spanId": f"{number + 1:016x}", "name": name,
                    "parentSpanId": f"{1:016x}" if number else "",
                    "startTimeUnixNano": str((_START + number) * 1_000_000), "status": {},
                    "endTimeUnixNano": str((_START + 100_000) * 1_000_000),
                    "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
                }
            )  # fmt: skip
        yield json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": exported}]}]})


WRITERS: dict[str, Callable[[int, int], Iterator[str]]] = {"langfuse": langfuse_lines, "otlp": otlp_lines}

if __name__ == "__main__":
    main()
