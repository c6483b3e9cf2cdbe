"""Langfuse: traces read from a project, scores written to it, and a plug-in for its SDK."""

from groundwire.connectors.langfuse.connector import langfuse
from groundwire.connectors.langfuse.plugin import evaluator, whole_trace
from groundwire.connectors.langfuse.read import LangfuseSource
from groundwire.connectors.langfuse.settings import LangfuseSettings
from groundwire.connectors.langfuse.write import LangfuseSink

__all__ = ["LangfuseSettings", "LangfuseSink", "LangfuseSource", "evaluator", "langfuse", "whole_trace"]
