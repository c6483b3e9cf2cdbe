"""`groundwire demo`: the bundled traces, scored with the offline judge."""

import asyncio
from importlib.resources import as_file, files
from pathlib import Path

from rich.markup import escape
from rich.panel import Panel

from groundwire.connectors import Problem
from groundwire.jobs.cli.score import AT_ONCE, ScoreOptions, load_metric, report_entry
from groundwire.jobs.cli.show import print_counts, print_rows, stderr, stdout
from groundwire.jobs.report import ReportEntry, write_html
from groundwire.jobs.scoring import Counts, Outcome, partitions_in, score_partitions
from groundwire.scorer import ConfigError, MemoryLedger, write_comment

__all__ = ["run_demo"]


def run_demo(out: Path) -> int:
    """Score the bundled traces, print a table and one whole comment, write rows.jsonl and report.html into `out`."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{out}: {error.strerror}; name another folder with --out") from None
    with as_file(files("groundwire.jobs") / "demo") as folder:
        paths = tuple(str(path) for path in sorted(folder.iterdir()) if path.suffix in (".json", ".jsonl"))
        outcomes, counts = asyncio.run(_score(paths))
    (out / "rows.jsonl").write_text("".join(f"{item.row.model_dump_json()}\n" for item in outcomes), encoding="utf-8")
    entries: list[ReportEntry] = [report_entry(item) for item in outcomes]
    write_html(entries, out / "report.html", title="groundwire demo")
    print_rows([item.row for item in outcomes], console=stdout)
    stdout.print()
    print_counts(counts, console=stdout)
    shown = next((item.row for item in outcomes if item.row.label == "hallucinated"), outcomes[0].row)
    stdout.print()
    stdout.print(
        Panel(escape(write_comment(shown)), title=f"the comment on {escape(shown.trace_id)}", title_align="left")
    )
    rows = out / "rows.jsonl"
    stdout.print(
        f"Wrote {rows} and {out / 'report.html'} (open it in a browser).\n\n"
        "Next:\n"
        f"  groundwire explain {shown.row_id} --rows {rows}\n"
        "  groundwire score YOUR-TRACES.jsonl --html report.html\n"
        "  groundwire score YOUR-TRACES.jsonl --judge llm --model gpt-5-mini --max-usd 1",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return 0


async def _score(paths: tuple[str, ...]) -> tuple[list[Outcome], Counts]:
    metric = load_metric(ScoreOptions(paths=paths), ledger=MemoryLedger())
    counts, outcomes = Counts(), []
    async for item in score_partitions(partitions_in(paths, metric=metric, level="trace"), metric, at_once=AT_ONCE):
        if isinstance(item, Problem):
            counts.problems += 1
            stderr.print(str(item), markup=False)
            continue
        counts.add(item.row)
        outcomes.append(item)
    return outcomes, counts
