"""The page and the JSON of the rates."""

import os
from pathlib import Path

from pydantic import TypeAdapter

from groundwire.jobs.report.charts import HEIGHT, WIDTH, latency_chart, rate_chart
from groundwire.jobs.report.page import assets, environment
from groundwire.jobs.report.rates import RatesReport, rate_words, statuses_words
from groundwire.scorer import MICRO, package_version

__all__ = ["rates_as_json", "write_rates_html"]

_ADAPTER = TypeAdapter(RatesReport)


def rates_as_json(report: RatesReport) -> str:
    """The report as one JSON object; no number is NaN or infinite."""
    return _ADAPTER.dump_json(report, indent=2).decode()


def write_rates_html(report: RatesReport, path: Path) -> None:
    """One self-contained page with charts; the file is there, whole, or not at all. Raises `OSError`."""
    text = (
        environment()
        .get_template("rates.html")
        .render(
            report=report,
            charts=[rate_chart(report, group) for group in report.groups],
            latency=latency_chart(report),
            width=WIDTH,
            height=HEIGHT,
            micro=MICRO,
            rate_words=rate_words,
            statuses_words=statuses_words,
            version=package_version(),
            **assets(),
        )
    )
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
