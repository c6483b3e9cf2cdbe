"""Arize Phoenix: traces read from a project, scores written to it as annotations, an evaluator for its experiments."""

from groundwire.connectors.phoenix.connector import phoenix
from groundwire.connectors.phoenix.plugin import evaluator
from groundwire.connectors.phoenix.read import PhoenixSource
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.connectors.phoenix.write import PhoenixSink

__all__ = ["PhoenixSettings", "PhoenixSink", "PhoenixSource", "evaluator", "phoenix"]
