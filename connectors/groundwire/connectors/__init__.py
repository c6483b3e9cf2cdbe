"""Where traces come from and scores go: one platform behind the same few verbs as another."""

from groundwire.connectors.base import Finding, Hook, Origin, Page, Sink, Source, Wanted, Window
from groundwire.connectors.connector import WHERE_FIELDS, Connector, SourceSettings, nearest
from groundwire.connectors.cursor import Mark, Progress, ended_at
from groundwire.connectors.registry import connector_names, load_connector
from groundwire.connectors.score import Delivery, DeliveryState, Score, Target
from groundwire.connectors.trace import Level, Trace

__all__ = [
    "WHERE_FIELDS",
    "Connector",
    "Delivery",
    "DeliveryState",
    "Finding",
    "Hook",
    "Level",
    "Mark",
    "Origin",
    "Page",
    "Progress",
    "Score",
    "Sink",
    "Source",
    "SourceSettings",
    "Target",
    "Trace",
    "Wanted",
    "Window",
    "connector_names",
    "ended_at",
    "load_connector",
    "nearest",
]
