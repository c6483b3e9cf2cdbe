"""`groundwire label`: ask a person about a sample of answers, in the terminal."""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import typer

from groundwire.jobs.calibration import (
    Asked,
    Candidate,
    Drawn,
    Fetched,
    HumanLabel,
    Question,
    annotate,
    ask_all,
    candidates_of,
    draw,
    fetch,
    read_labels,
    rows_with,
)
from groundwire.jobs.cli.explain import materials_of, read_rows
from groundwire.jobs.cli.score import ScoreOptions, load_metric
from groundwire.jobs.cli.show import stdout
from groundwire.jobs.logs import configure_logs
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import load_settings
from groundwire.scorer import ConfigError, Material, MemoryLedger

__all__ = ["LabelOptions", "is_terminal", "read_key", "run_label"]


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """What `groundwire label` was asked."""

    out: Path
    files: tuple[str, ...] = ()
    rows: Path | None = None
    evaluator: str | None = None
    config: Path | None = None
    n: int = 40
    seed: int = 1
    claims: bool = False
    each_turn: bool = False
    labeller: str = ""
    annotate: str | None = None
    """The name of a score that is written on the platform for each label."""


def run_label(options: LabelOptions) -> int:
    """Draw, ask, write. Raises `ConfigError`."""
    if not is_terminal():
        raise ConfigError("label asks in a terminal, and standard input is none; labels can also be written by hand")
    if options.out.is_dir() or not options.out.absolute().parent.is_dir():
        raise ConfigError(f"{options.out}: name a file in a folder that is there")
    done = read_labels(options.out) if options.out.exists() and options.out.stat().st_size else []
    if options.evaluator is None:
        if options.annotate is not None:
            raise ConfigError("--annotate writes on an evaluator's platform: name it with --evaluator")
        return _of_files(options, done)
    if options.files or options.rows:
        raise ConfigError("--evaluator reads rows and traces of its own; leave the files and --rows out")
    return asyncio.run(_of_evaluator(options, options.evaluator, done))


def _of_files(options: LabelOptions, done: Sequence[HumanLabel]) -> int:
    if options.rows is None or not options.files:
        raise ConfigError("name the traces and their --rows rows.jsonl, or --evaluator NAME")
    rows = {row.row_id: row for row in read_rows(options.rows)}
    if len({(row.metric, row.partition_type, row.config_fingerprint) for row in rows.values()}) > 1:
        raise ConfigError(
            f"{options.rows} holds rows of several metrics, levels or configurations; label one at a time"
        )
    name = next((row.metric for row in rows.values()), "agent.hallucination")
    metric = load_metric(ScoreOptions(paths=options.files, metric=name, config=options.config), ledger=MemoryLedger())
    found = [Candidate(row_id=row.row_id, status=row.status, score=row.score) for row in rows.values()]
    drawn = _drawn(found, options, done)
    materials = materials_of(
        [rows[one.row_id] for one in drawn], list(options.files), metric, each_turn=options.each_turn
    )
    questions = []
    for one in drawn:
        row = rows[one.row_id]
        material = materials.get((row.partition_type, row.partition_id))
        if material is not None:
            questions.append(Question(row=row, material=material, drawn=one))
    _gone(len(drawn) - len(questions))
    _ask(questions, options, done)
    return 0


async def _of_evaluator(options: LabelOptions, name: str, done: Sequence[HumanLabel]) -> int:
    settings = load_settings(options.config)
    configure_logs(form=settings.log.format, level="error")
    spec = settings.evaluator(name)
    if options.annotate is not None and len(options.annotate) > 35:
        raise ConfigError("--annotate: a score's name has at most 35 characters")
    async with open_service(settings) as service:
        evaluator = await service.evaluator(spec, live=False)
        found = await candidates_of(service, name, evaluator.metric.fingerprint)
        drawn = _drawn(found, options, done)
        rows = {stored.row.row_id: stored for stored in await rows_with(service, [one.row_id for one in drawn])}
        fetched = await fetch(service, evaluator, [rows[one.row_id] for one in drawn if one.row_id in rows])
        by_row = {one.stored.row.row_id: one for one in fetched}
        questions = []
        for one in drawn:
            if one.row_id in by_row:
                material = evaluator.metric.material(by_row[one.row_id].partition)
                if isinstance(material, Material):
                    questions.append(Question(row=by_row[one.row_id].stored.row, material=material, drawn=one))
        _gone(len(drawn) - len(questions))
        new = _ask(questions, options, done)
        if options.annotate is not None:
            await _annotate(service, spec.source, name, options.annotate, new, by_row)
    return 0


async def _annotate(
    service: Service, source: str, evaluator: str, score: str, labels: Iterable[HumanLabel], by_row: dict[str, Fetched]
) -> None:
    sent = await annotate(
        service, evaluator, score, [(label, by_row[label.row_id]) for label in labels if label.row_id in by_row]
    )
    stdout.print(
        f"{sent.delivered} scores {score} written to {source}, {sent.later} to be retried by `groundwire run`, "
        f"{sent.refused} refused.",
        markup=False,
        highlight=False,
    )


def _drawn(found: Sequence[Candidate], options: LabelOptions, done: Sequence[HumanLabel]) -> list[Drawn]:
    ids = [label.row_id for label in done if label.row_id]
    drawn = draw(found, options.n, seed=options.seed, done=ids)
    if not drawn:
        raise ConfigError("no scored or unknown row is there to be labelled; `groundwire score` or `run` makes them")
    labelled = set(ids)
    return [one for one in drawn if one.row_id not in labelled]


def _gone(n: int) -> None:
    if n:
        stdout.print(f"{n} of the rows drawn have no answer that can be read any more.", highlight=False)


def _ask(questions: Sequence[Question], options: LabelOptions, done: Sequence[HumanLabel]) -> list[HumanLabel]:
    """Ask, and give the labels that are new; the last of each row."""
    new: dict[str, HumanLabel] = {}
    with ExitStack() as stack:
        out: list[IO[str]] = []

        def write(label: HumanLabel) -> None:
            if not out:  # no file is made before there is something to write
                out.append(stack.enter_context(options.out.open("a", encoding="utf-8")))
            out[0].write(label.model_dump_json(exclude_none=True) + "\n")
            out[0].flush()
            new[label.row_id or ""] = label

        asked = Asked(
            keys=read_key,
            line=lambda prompt: input(prompt),
            write=write,
            console=stdout,
            clock=lambda: datetime.now(UTC),
            labeller=options.labeller,
            claims=options.claims,
        )
        ask_all(questions, asked, before=len(done))
    total = len({label.key for label in done} | {label.key for label in new.values()})
    what = "The same command goes on from here. " if len(new) < len(questions) else ""
    stdout.print(f"{total} labels in {options.out}. {what}Next: groundwire calibrate {options.out}", markup=False)
    return list(new.values())


def is_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty()


def read_key() -> str:
    """Wait for one key; Ctrl-C and the end of input stop the asking."""
    try:
        return typer.getchar()
    except (KeyboardInterrupt, EOFError):
        return "q"
