"""What the commands print: tables, counts, manifests."""

import json
import sys
from collections.abc import Sequence

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from groundwire.jobs.scoring import Counts
from groundwire.scorer import MICRO, Row, headline, load_metric_manifest, manifest_names

__all__ = ["print_counts", "print_manifest", "print_rows", "stderr", "stdout"]

STATUSES = ("scored", "unknown", "invalid", "skipped", "error")
_STYLE = {"scored": "green", "unknown": "yellow", "invalid": "magenta", "skipped": "cyan", "error": "red"}

PIPED_WIDTH = 200
"""Columns of a table that no terminal wraps: ids must be there to copy."""

stdout = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
stderr = Console(stderr=True, width=None if sys.stderr.isatty() else PIPED_WIDTH)


def print_manifest(name: str | None, *, as_json: bool) -> None:
    """One manifest, or the list of metrics."""
    if name is None:
        names = manifest_names()
        if as_json:
            typer.echo(json.dumps(names))
            return
        for one in names:
            found = load_metric_manifest(one)
            typer.echo(f"{one} {found.version} — {found.metric_metadata.summary}")
        return
    found = load_metric_manifest(name)
    typer.echo(json.dumps(found.model_dump(mode="json"), ensure_ascii=False, indent=2) if as_json else found.as_yaml())


def print_rows(rows: Sequence[Row], *, console: Console) -> None:
    """A table of rows, one line each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("trace", no_wrap=True, max_width=40)
    table.add_column("status")
    table.add_column("score", justify="right")
    table.add_column("what")
    for row in rows:
        style = "red" if row.label == "hallucinated" else _STYLE[row.status]
        table.add_row(
            escape(row.partition_id),
            f"[{style}]{row.status}[/]",
            "–" if row.score is None else f"{row.score:.2f}",
            escape(_what(row)),
        )
    console.print(table)


def _what(row: Row) -> str:
    bad = next((claim for claim in row.claims if claim.label == "hallucinated"), None)
    if row.status == "scored" and bad is not None:
        text = " ".join(bad.text.split())
        return f"hallucinated: “{text[:90]}{'…' if len(text) > 90 else ''}”"
    line = headline(row)
    return line.removeprefix(f"{row.score:.2f} · ") if row.score is not None else line.removeprefix(f"{row.status}: ")


def print_counts(counts: Counts, *, console: Console) -> None:
    """What became of everything: per status, per reason, and what mends each broken rule."""
    total = counts.read
    parts = [f"[{_STYLE[status]}]{counts.by_status.get(status, 0)} {status}[/]" for status in STATUSES]
    console.print(f"{total} {'partition' if total == 1 else 'partitions'} = {' + '.join(parts)}", highlight=False)
    for (status, reason), count in sorted(counts.by_reason.items(), key=lambda entry: (entry[0][0], -entry[1])):
        line = f"  {status}: {reason}  {count} ({count / total:.0%})"
        if status == "invalid" and reason in counts.remedies:
            line += f" — {counts.remedies[reason]}"
        console.print(escape(line), highlight=False, soft_wrap=True)
    if counts.problems:
        console.print(f"{counts.problems} {'piece' if counts.problems == 1 else 'pieces'} of input couldn't be read")
    if counts.calls:
        about = " (a part at its worst case)" if counts.estimated else ""
        console.print(f"{counts.calls} judge calls, ${counts.micro_dollars / MICRO:.6f}{about}", highlight=False)
