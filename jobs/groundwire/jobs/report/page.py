"""The report's file: entries are written as they come, the head with its counts after them, then both are joined."""

import base64
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from groundwire.jobs.report.entry import ReportEntry, view_entry
from groundwire.jobs.report.summary import Summary

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["HtmlReport", "assets", "environment", "open_html", "write_html"]

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""What HTML can't hold, lone surrogates among it."""


class HtmlReport:
    """A report that is being written; entries are added one by one, and memory doesn't grow with their number."""

    def __init__(self, body: IO[str]) -> None:
        self._body = body
        self._template = environment().get_template("entry.html")
        self.summary = Summary()

    def add(self, entry: ReportEntry) -> None:
        """Show one more row, below those before it."""
        view = view_entry(entry, self.summary.rows + 1)
        self.summary.add(view)
        self._body.write(self._template.render(entry=view))


@contextmanager
def open_html(path: Path, *, title: str) -> Iterator[HtmlReport]:
    """A report to add entries to; the file at `path` is there, whole, when the block ends without an exception.

    Raises `OSError` where it can't be written.
    """
    page = environment()
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as body:
        report = HtmlReport(body)
        yield report
        body.seek(0)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as whole:
                whole.write(page.get_template("head.html").render(title=title, summary=report.summary, **assets()))
                shutil.copyfileobj(body, whole)
                whole.write(page.get_template("foot.html").render(summary=report.summary))
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def write_html(entries: Iterable[ReportEntry], path: Path, *, title: str) -> int:
    """Write the report of all entries to `path` and return how many there were; see `open_html`."""
    with open_html(path, title=title) as report:
        for entry in entries:
            report.add(entry)
    return report.summary.rows


@cache
def environment() -> "Environment":
    """Where the templates are; what they show is escaped, and what HTML can't hold replaced."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("groundwire.jobs.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )


def _printable(value: Any) -> Any:
    """Replace what HTML can't hold, one for one; markup of our own has none of it."""
    return _UNPRINTABLE.sub("\ufffd", value) if type(value) is str else value


@cache
def assets() -> dict[str, Any]:
    """Style and script, and the script's digest: the page's policy lets no other script run, whatever a trace holds."""
    from markupsafe import Markup

    folder = files("groundwire.jobs.report") / "templates"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"style": Markup(style), "script": Markup(script), "digest": digest}  # noqa: S704 - files of this package
