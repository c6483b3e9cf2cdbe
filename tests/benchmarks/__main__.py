"""`make bench`: every benchmark, one after the other; `python -m tests.benchmarks reading scoring` runs some."""

import importlib
import sys
from pathlib import Path

NAMES = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def main() -> None:
    """Run the benchmarks that are named, or all."""
    chosen = sys.argv[1:] or NAMES
    unknown = sorted(set(chosen) - set(NAMES))
    if unknown:
        sys.exit(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    del sys.argv[1:]  # the names are ours: a benchmark reads its own arguments when it is run alone
    for name in chosen:
        print(f"\n== {name}", flush=True)
        importlib.import_module(f"tests.benchmarks.bench_{name}").main()


if __name__ == "__main__":
    main()
