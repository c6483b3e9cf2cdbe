"""LangSmith: traces read from a project, scores written to it as feedback, and an evaluator for its SDK."""

from groundwire.connectors.langsmith.connector import langsmith
from groundwire.connectors.langsmith.hook import LangsmithHook
from groundwire.connectors.langsmith.plugin import evaluator
from groundwire.connectors.langsmith.read import LangsmithSource
from groundwire.connectors.langsmith.settings import LangsmithSettings
from groundwire.connectors.langsmith.write import LangsmithSink

__all__ = ["LangsmithHook", "LangsmithSettings", "LangsmithSink", "LangsmithSource", "evaluator", "langsmith"]
