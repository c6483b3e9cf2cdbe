"""Where traces come from and scores go: one room for each platform, and the words they share."""

from groundwire.connectors.files import FORMATS, Format, Problem, Rejected, read_traces
from groundwire.connectors.messages import find_messages, read_messages
from groundwire.connectors.partitions import KindRule, SpanRule, cut, cut_session
from groundwire.connectors.trace import Level, Trace

__all__ = [
    "FORMATS",
    "Format",
    "KindRule",
    "Level",
    "Problem",
    "Rejected",
    "SpanRule",
    "Trace",
    "cut",
    "cut_session",
    "find_messages",
    "read_messages",
    "read_traces",
]
