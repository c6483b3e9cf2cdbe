"""The report's file: entries are written as they come, the head with its counts after them, then both are joined."""

import base64
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundwire.jobs.report.entry import ReportEntry, view_entry
from groundwire.jobs.report.summary import Summary

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["write_html"]

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""What HTML can't hold, lone surrogates among it."""


def write_html(entries: Iterable[ReportEntry], path: Path, *, title: str) -> int:
    """Write the report to `path`, whole or not at all, and return how many entries it holds.

    Memory doesn't grow with the number of entries: they are taken one by one. Raises `OSError` where the file can't be
    written.
    """
    page, summary = _environment(), Summary()
    entry_template = page.get_template("entry.html")
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as body:
        for number, entry in enumerate(entries, start=1):
            view = view_entry(entry, number)
            summary.add(view)
            body.write(entry_template.render(entry=view))
        body.seek(0)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as whole:
                whole.write(page.get_template("head.html").render(title=title, summary=summary, **_assets()))
                shutil.copyfileobj(body, whole)
                whole.write(page.get_template("foot.html").render(summary=summary))
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    return summary.rows


@cache
def _environment() -> "Environment":
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
def _assets() -> dict[str, Any]:
    """Style and script, and the script's digest: the page's policy lets no other script run, whatever a trace holds."""
    from markupsafe import Markup

    folder = files("groundwire.jobs.report") / "templates"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"style": Markup(style), "script": Markup(script), "digest": digest}  # noqa: S704 - files of this package
