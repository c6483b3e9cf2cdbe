"""`groundwire explain`: why a row is what it is."""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError
from rich.markup import escape
from rich.text import Text

from groundwire.jobs.cli.score import ScoreOptions, format_named, load_metric
from groundwire.jobs.cli.show import stdout
from groundwire.jobs.scoring import partitions_in
from groundwire.scorer import (
    Claim,
    ConfigError,
    Material,
    MemoryLedger,
    Metric,
    Partition,
    Row,
    Shown,
    headline,
)

__all__ = ["materials_of", "read_rows", "run_explain"]

_STYLES = {
    "supported": "green",
    "inferred": "cyan",
    "model_knowledge": "blue",
    "hallucinated": "bold red",
    None: "yellow",
}


def run_explain(
    wanted: str,
    paths: list[str],
    *,
    rows: Path,
    config: Path | None,
    file_format: str | None,
    each_turn: bool,
) -> None:
    """Print the rows with that id, or of that trace; with the scored files, the evidence in place too."""
    found = [row for row in read_rows(rows) if wanted in (row.row_id, row.trace_id, row.partition_id)]
    if not found:
        raise ConfigError(f"{rows} holds no row or trace {wanted!r}; `groundwire score FILE --out {rows}` writes it")
    metric = load_metric(ScoreOptions(paths=tuple(paths), config=config, metric=found[0].metric), ledger=MemoryLedger())
    materials = materials_of(found, paths, metric, file_format=file_format, each_turn=each_turn)
    for row in found:
        explain(row, materials.get((row.partition_type, row.partition_id)))
    if not paths:
        stdout.print("Name the files that were scored to see the evidence in place.", style="dim")


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file. Raises `ConfigError`."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    try:
                        yield Row.model_validate_json(line)
                    except ValidationError:
                        raise ConfigError(
                            f"{path}: line {number} is no row; `groundwire score --out` writes rows"
                        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; name the rows with --rows") from None


def materials_of(
    rows: list[Row],
    paths: list[str],
    metric: Metric,
    *,
    file_format: str | None = None,
    each_turn: bool = False,
) -> dict[tuple[str, str], Material]:
    """What was judged, by partition type and id, of those rows whose traces stand in the files."""
    wanted = {(row.partition_type, row.partition_id) for row in rows}
    found: dict[tuple[str, str], Material] = {}
    for level in sorted({row.partition_type for row in rows}):
        for item in partitions_in(
            paths, metric=metric, level=level, file_format=format_named(file_format), each_turn=each_turn
        ):
            if isinstance(item, Partition) and (key := (item.partition_type, item.partition_id)) in wanted:
                material = metric.material(item)
                if isinstance(material, Material):
                    found[key] = material
    return found


def explain(row: Row, material: Material | None) -> None:
    """Print one row and, where it is at hand, what it was judged on."""
    stdout.rule(escape(f"{row.partition_type} {row.partition_id}"), align="left")
    stdout.print(Text(headline(row), style="bold"))
    if row.explanation:
        stdout.print(Text(row.explanation))
    if row.flags:
        stdout.print(Text(f"flags: {', '.join(row.flags)}", style="yellow"))
    if material is not None:
        _print_section("question", material.question)
        _print_answer(material.answer, row.claims)
    for number, claim in enumerate(row.claims, start=1):
        _print_claim(number, claim)
    _print_coverage(row)
    if material is not None:
        for shown in material.view.shown:
            _print_block(shown, row.claims)
    _print_judge(row)


def _print_section(title: str, text: str) -> None:
    stdout.print(Text(title, style="bold dim"))
    stdout.print(Text(text))


def _print_answer(answer: str, claims: tuple[Claim, ...]) -> None:
    text = Text(answer)
    for claim in claims:
        if claim.start is not None and claim.end is not None:
            text.stylize(_STYLES[claim.label], claim.start, claim.end)
    stdout.print(Text("answer", style="bold dim"))
    stdout.print(text)


def _print_claim(number: int, claim: Claim) -> None:
    place = f" [{claim.start}, {claim.end})" if claim.start is not None else " (not located in the answer)"
    line = Text(f"{number}. ")
    line.append(claim.label or claim.reason or "undecided", style=_STYLES[claim.label])
    line.append(f"{place} “{claim.text}”")
    if claim.probability is not None:
        line.append(f" p(hallucinated) {claim.probability:.2f}", style="dim")
    stdout.print(line)
    if claim.reason and claim.label is not None:
        stdout.print(Text(f"   {claim.reason}"))
    if claim.evidence is not None:
        path = f" {claim.evidence.path}" if claim.evidence.path else ""
        state = "" if claim.evidence.verified else " — not found there"
        stdout.print(Text(f"   {claim.evidence.block}{path}: “{claim.evidence.quote}”{state}", style="green"))
    for check in claim.checks:
        where = f" in {check.block}{' ' + check.path if check.path else ''}" if check.block else ""
        stdout.print(Text(f"   {check.check} “{check.text}”: {check.outcome}{where}", style="dim"))


def _print_coverage(row: Row) -> None:
    cut = [block for block in row.coverage.blocks if block.shown < block.total]
    seen = f"evidence seen: {row.coverage.shown:,} of {row.coverage.total:,} characters"
    stdout.print(Text(seen, style="dim"))
    for block in cut:
        stdout.print(Text(f"   {block.block}: {block.shown:,} of {block.total:,}", style="yellow"))
    if row.coverage.media_not_checked:
        stdout.print(Text(f"   {row.coverage.media_not_checked} images or files not checked", style="yellow"))


def _print_block(shown: Shown, claims: tuple[Claim, ...]) -> None:
    block = shown.block
    failed = " (failed)" if block.failed else ""
    stdout.print(Text(f"{block.name} {block.kind} {block.tool_name or ''}{failed}", style="bold dim"))
    if shown.arguments:
        stdout.print(Text(f"arguments {shown.arguments}", style="dim"))
    text = Text(shown.text)
    for claim in claims:
        if claim.evidence is not None and claim.evidence.block == block.name and claim.evidence.quote:
            text.highlight_words([claim.evidence.quote], style="green")
    stdout.print(text)


def _print_judge(row: Row) -> None:
    about = {name: value for name, value in row.judge.items() if name != "replies"}
    stdout.print(Text(f"judge {json.dumps(about, ensure_ascii=False)}", style="dim"))
    replies = row.judge.get("replies")
    for reply in replies if isinstance(replies, list) else []:
        if isinstance(reply, dict):
            if reply.get("prompt"):
                _print_section(f"prompt ({reply.get('question')})", str(reply["prompt"]))
            _print_section(f"reply ({reply.get('question')})", str(reply.get("reply")))
    stdout.print(Text(f"{row.row_id} · fingerprint {row.config_fingerprint}", style="dim"))
