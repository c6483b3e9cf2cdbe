"""The offline judge through `groundwire score`: rows per CPU second, and that memory doesn't grow with the file.

CPU is compared with reading and cutting the same file in the same run. Memory is the peak of a process of its own, over
files of 20 and of 200 MB; it may differ by `ALLOWED_MB`, because the file is streamed.
"""

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from groundwire.connectors import Trace, cut, read_traces
from groundwire.connectors.testing import make_samples
from groundwire.jobs.cli.score import ScoreOptions, run_score

__all__ = ["main", "run"]

SMALL_MB, LARGE_MB = 20, 200
TRACES = 1_000
"""Small traces, for the speed."""
ALLOWED_MB = 64


def main() -> None:
    """Print the table and the figures as JSON."""
    figures = run()
    print(f"{'small traces':<34}{figures['rows_per_cpu_second']:>10.0f} rows per CPU second")
    print(f"{'scoring over reading and cutting':<34}{figures['ratio']:>10.2f} x")
    for size in (SMALL_MB, LARGE_MB):
        print(f"{f'peak memory over {size} MB':<34}{figures['peak_mb'][str(size)]:>10.0f} MB")
    verdict = "flat" if figures["peak_growth_mb"] <= ALLOWED_MB else "GROWS"
    print(f"{'growth':<34}{figures['peak_growth_mb']:>10.0f} MB: {verdict}")
    print(json.dumps({"benchmark": "scoring", **figures}))


def run(*, traces: int = TRACES, sizes: tuple[int, int] = (SMALL_MB, LARGE_MB)) -> dict[str, Any]:
    """The figures: rows per CPU second, that over reading alone, and peak memory in MB by file size."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = folder / "small.jsonl"
        _write_small(small, traces)
        read = _cpu(_read, small)
        scored = _cpu(_score, small, folder / "small.rows.jsonl")
        peaks = {}
        for size in sizes:
            path = folder / f"{size}.jsonl"
            _write_large(path, size)
            peaks[str(size)] = _peak_mb(path, folder / f"{size}.rows.jsonl")
            path.unlink()
    return {
        "traces": traces,
        "rows_per_cpu_second": traces / scored,
        "ratio": scored / read,
        "peak_mb": peaks,
        "peak_growth_mb": peaks[str(sizes[1])] - peaks[str(sizes[0])],
    }


def _cpu(work: Any, *args: Path) -> float:
    began = time.process_time()
    work(*args)
    return time.process_time() - began


def _read(path: Path) -> None:
    for found in read_traces(path):
        assert isinstance(found, Trace)
        assert cut(found, "trace")


def _score(path: Path, out: Path) -> None:
    console, sys.stdout = sys.stdout, sys.stderr
    try:
        assert run_score(ScoreOptions(paths=(str(path),), out=out)) == 0
    finally:
        sys.stdout = console


def _in_a_process(path: Path, out: Path, peak: Any) -> None:
    _score(path, out)
    peak.value = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _peak_mb(path: Path, out: Path) -> float:
    processes = multiprocessing.get_context("spawn")
    peak = processes.Value("d", 0.0)
    process = processes.Process(target=_in_a_process, args=(path, out, peak))
    process.start()
    process.join()
    assert process.exitcode == 0
    return float(peak.value)


def _conversation(number: int, result: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "read_log", "arguments": "{}"}}
    return {
        "id": f"conversation-{number}",
        "messages": [
            {"role": "user", "content": "What does the log say of order 4711?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": result},
            {"role": "assistant", "content": "Order 4711 was shipped on 3 May 2026 and cost 120 euros."},
        ],
    }


def _write_small(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as lines:
        for number, sample in enumerate(make_samples(count, invalid=0)):
            tool = next(span for span in sample.trace.spans if span.kind == "TOOL")
            lines.write(json.dumps(_conversation(number, json.dumps(tool.output)), ensure_ascii=False) + "\n")


def _write_large(path: Path, megabytes: int) -> None:
    filler = "".join(
        f"{second % 60:02d} worker {second * 7919 % 9973} took {second % 977} ms\n" for second in range(8_000)
    )
    result = filler + "order 4711 shipped 2026-05-03 for 120 euros\n" + filler
    line = len(json.dumps(_conversation(0, result)))
    with path.open("w", encoding="utf-8") as lines:
        for number in range(megabytes * 1_000_000 // line):
            lines.write(json.dumps(_conversation(number, f"{number}\n{result}")) + "\n")


if __name__ == "__main__":
    main()
