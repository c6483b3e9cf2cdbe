"""Traces from files: every known export, recognised by its content and streamed."""

from groundwire.connectors.files.canonical import Rejected
from groundwire.connectors.files.plugin import FilesSettings, connector
from groundwire.connectors.files.reader import Problem, read_traces
from groundwire.connectors.files.recognition import FORMATS, Format

__all__ = ["FORMATS", "FilesSettings", "Format", "Problem", "Rejected", "connector", "read_traces"]
