"""Where traces come from and scores go: one platform behind the same few verbs as another."""

from groundwire.connectors.base import (
    Annotation,
    Annotations,
    Finding,
    Hook,
    Origin,
    Page,
    Sessions,
    Sink,
    Source,
    Wanted,
    Window,
)
from groundwire.connectors.connector import (
    WHERE_FIELDS,
    Attachment,
    Connector,
    Instructions,
    SourceSettings,
    nearest,
)
from groundwire.connectors.cursor import Mark, Progress, ended_at
from groundwire.connectors.evaluator import HallucinationEvaluator, InputMapping
from groundwire.connectors.files import FORMATS, Format, Problem, Rejected, read_traces
from groundwire.connectors.formats.conversations import is_conversation, trace_of_conversation
from groundwire.connectors.formats.exchange import trace_of_exchange
from groundwire.connectors.messages import find_messages, read_messages
from groundwire.connectors.partitions import cut, cut_session
from groundwire.connectors.registry import connector_names, load_connector
from groundwire.connectors.score import Delivery, DeliveryState, Score, Target
from groundwire.connectors.trace import Level, Trace

__all__ = [
    "FORMATS",
    "WHERE_FIELDS",
    "Annotation",
    "Annotations",
    "Attachment",
    "Connector",
    "Delivery",
    "DeliveryState",
    "Finding",
    "Format",
    "HallucinationEvaluator",
    "Hook",
    "InputMapping",
    "Instructions",
    "Level",
    "Mark",
    "Origin",
    "Page",
    "Problem",
    "Progress",
    "Rejected",
    "Score",
    "Sessions",
    "Sink",
    "Source",
    "SourceSettings",
    "Target",
    "Trace",
    "Wanted",
    "Window",
    "connector_names",
    "cut",
    "cut_session",
    "ended_at",
    "find_messages",
    "is_conversation",
    "load_connector",
    "nearest",
    "read_messages",
    "read_traces",
    "trace_of_conversation",
    "trace_of_exchange",
]
