"""Langfuse as a connector, as `platform = "langfuse"` names it."""

from groundwire.connectors.connector import Connector
from groundwire.connectors.langfuse.annotations import LangfuseAnnotations
from groundwire.connectors.langfuse.read import LangfuseSource
from groundwire.connectors.langfuse.settings import LangfuseSettings
from groundwire.connectors.langfuse.write import LangfuseSink

__all__ = ["langfuse"]

langfuse = Connector(
    name="langfuse",
    settings=LangfuseSettings,
    source=LangfuseSource,
    sink=LangfuseSink,
    annotations=LangfuseAnnotations,
    where_fields={
        "environment": "the environment of the root observation",
        "has_error": "whether any observation has the level ERROR",
        "level": "the highest level of its observations",
        "max_duration": "from the first start to the last end",
        "metadata": "metadata of the root observation; name keys with long values in expand_metadata",
        "min_duration": "from the first start to the last end",
        "model": "the model of any generation",
        "name": "the trace's name",
        "release": "the release",
        "session": "the session's id",
        "tags": "the trace's tags",
        "user": "the user's id",
    },
    variables={"host": "LANGFUSE_BASE_URL", "public_key": "LANGFUSE_PUBLIC_KEY", "secret_key": "LANGFUSE_SECRET_KEY"},
)
