"""What a calibration looks like in the terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from groundwire.jobs.calibration import Agreement, Bias, Calibration, Probes
from groundwire.jobs.cli.show import stdout
from groundwire.scorer import MICRO, Interval, Kappa

__all__ = ["print_calibrations"]

SHOWN = 10
"""Most differences that are printed; `--json` has all."""


def print_calibrations(made: Sequence[Calibration], probes: Probes | None) -> None:
    """The figures of each group, what the probes found, and then the rows to read."""
    for calibration in made:
        _print_calibration(calibration)
    if probes is not None:
        _print_probes(probes)
    for calibration in made:
        _print_differences(calibration)


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _range(interval: Interval | None, *, share: bool = False) -> str:
    if interval is None:
        return ""
    if share:
        return f"({100 * interval.low:.0f} to {100 * interval.high:.0f} %)"
    return f"({interval.low:.2f} to {interval.high:.2f})"


def _kappa(kappa: Kappa) -> str:
    if kappa.value is None:
        return "undefined: one label only"
    return f"{kappa.value:.2f} {_range(kappa.interval)}"


def _print_calibration(one: Calibration) -> None:
    judge = f"{one.judge.get('kind')} {one.judge.get('model')}"
    stdout.rule(Text(f"{one.metric} {one.metric_version} · {one.partition_type} · {judge}"), align="left")
    left = [f"{one.without_verdict} without a verdict of the judge"] if one.without_verdict else []
    left += [f"{one.changed} of answers that have changed since"] if one.changed else []
    stdout.print(f"{one.labels} labels" + "".join(f", {text}" for text in left), highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "n", "agreement", "Cohen's kappa"):
        table.add_column(name)
    for name, found in (("per row", one.rows), ("per claim", one.claims)):
        if found is not None:
            interval = _range(found.agreement_interval, share=True)
            table.add_row(
                name, str(found.kappa.n), f"{_percent(found.kappa.agreement)} {interval}", _kappa(found.kappa)
            )
    if one.scores is not None:
        table.add_row("numbers", str(one.scores.n), "–", f"{_kappa(one.scores)}, quadratic weights")
    stdout.print(table)
    if one.weighted_agreement is not None:
        interval = _range(one.weighted_interval, share=True)
        stdout.print(
            f"weighted to all rows that could have been drawn: agreement {_percent(one.weighted_agreement)} {interval}",
            highlight=False,
        )
    for name, found in (("per row", one.rows), ("per claim", one.claims)):
        if found is not None:
            _print_table(name, found)
    if one.claims_labelled and one.claims_found < one.claims_labelled:
        stdout.print(
            f"{one.claims_found} of {one.claims_labelled} claims that people labelled are claims of the judge too",
            highlight=False,
        )
    if one.threshold is not None:
        side = "from" if one.lower_is_better else "below"
        stdout.print(
            f"best threshold: hallucinated {side} {one.threshold.at:.2f}, agreement "
            f"{_percent(one.threshold.agreement)}, kappa {one.threshold.kappa:.2f} (chosen on these labels)",
            highlight=False,
        )

    if one.claim_threshold is not None:
        cut = one.claim_threshold
        stdout.print(
            f"best threshold of claims: hallucinated from p {cut.at:.2f}, agreement {_percent(cut.agreement)}, "
            f"kappa {cut.kappa:.2f} (chosen on these labels)",
            highlight=False,
        )


def _print_table(name: str, found: Agreement) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"{name}: people")
    for label in found.confusion.labels:
        table.add_column(f"judge {label}", justify="right")
    for label, counts in zip(found.confusion.labels, found.confusion.counts, strict=True):
        table.add_row(label, *map(str, counts))
    stdout.print(table)
    one = found.hallucinated
    said = "–" if one.precision is None else f"{one.precision:.2f} {_range(one.precision_interval)}"
    there = "–" if one.recall is None else f"{one.recall:.2f} {_range(one.recall_interval)}"
    stdout.print(f"hallucinated: precision {said}, recall {there}", highlight=False)


def _print_probes(probes: Probes) -> None:
    stdout.rule("probes", align="left")
    one = probes.retest
    _verdict(
        "test-retest",
        one.found,
        f"{one.flipped} of {one.n} verdicts changed over {one.repeats} calls {_range(one.flipped_interval, share=True)}"
        f", judgements {one.spread:.3f} apart",
    )
    _print_bias(
        "position", probes.position, "evidence shuffled: judgements move {effect:+.3f} further than between calls"
    )
    _print_bias("verbosity", probes.verbosity, "claims padded: scores move by {effect:+.3f}")
    stdout.print(f"{probes.calls} judge calls, ${probes.micro_dollars / MICRO:.6f}", highlight=False)


def _print_bias(name: str, bias: Bias | None, words: str) -> None:
    if bias is None:
        stdout.print(f"{name:<12} not probed: fewer than ten rows have evidence whose order can change", markup=False)
        return
    what = words.format(effect=bias.effect)
    _verdict(name, bias.found, f"{what} {_range(bias.interval)}, {bias.flipped} of {bias.n} verdicts changed")


def _verdict(name: str, found: bool, text: str) -> None:
    word = "[red]FOUND[/]" if found else "[green]not seen[/]"
    stdout.print(f"{name:<12} {word}  {text}", highlight=False, soft_wrap=True)


def _print_differences(one: Calibration) -> None:
    if not one.differences:
        return
    stdout.rule(f"where they differ: {len(one.differences)}", align="left")
    for found in one.differences[:SHOWN]:
        score = "" if found.score is None else f" ({found.score:.2f})"
        stdout.print(Text(f"{found.row_id}  trace {found.trace_id}", style="bold"))
        stdout.print(Text(f"  people  {found.people}: {found.people_reason or 'no reason given'}"))
        stdout.print(Text(f"  judge   {found.judge}{score}: {found.judge_reason}"))
    if len(one.differences) > SHOWN:
        stdout.print(f"and {len(one.differences) - SHOWN} more: --json shows all", highlight=False)
