"""Files as a connector: `platform = "files"`."""

from pydantic import Field

from groundwire.connectors.connector import Connector, SourceSettings
from groundwire.connectors.files.sink import FilesSink
from groundwire.connectors.files.source import FilesSource

__all__ = ["FilesSettings", "connector"]


class FilesSettings(SourceSettings):
    """What stands in `[sources.NAME]` with `platform = "files"`. Paths are relative to the working folder."""

    path: str
    """The files with traces: a path or a pattern such as `traces/*.jsonl`; `**` stands for any number of folders."""
    out: str = "scores.jsonl"
    """Where scores are written, one JSON object a line and one line a score."""
    page_size: int = Field(default=100, ge=1, le=10_000)
    """Traces that are read before any of them is judged."""


def _source(settings: FilesSettings) -> FilesSource:
    ours = (settings.out, f"{settings.out}.new", f"{settings.out}.lock")
    return FilesSource(settings.path, leave_out=ours, page_size=settings.page_size)


def _sink(settings: FilesSettings) -> FilesSink:
    return FilesSink(settings.out)


connector = Connector(
    name="files",
    settings=FilesSettings,
    source=_source,
    sink=_sink,
    starts="beginning",
    feedback=True,
    where_fields={
        "environment": "environment, where the format has one",
        "has_error": "any span failed",
        "level": "the highest level of its spans",
        "max_duration": "from the first start to the last end",
        "metadata": "metadata, or what stands beside a conversation's messages",
        "min_duration": "from the first start to the last end",
        "model": "any model that was called",
        "name": "the trace's name, else its root's",
        "release": "release, where the format has one",
        "session": "session or thread id",
        "tags": "tags, where the format has them",
        "user": "user id",
    },
)
"""The entry point."""
