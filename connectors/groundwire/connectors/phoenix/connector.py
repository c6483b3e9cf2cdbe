"""Arize Phoenix as a connector, as `platform = "phoenix"` names it."""

from groundwire.connectors.connector import Connector
from groundwire.connectors.phoenix.people import PhoenixAnnotations
from groundwire.connectors.phoenix.read import PhoenixSource
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.connectors.phoenix.write import PhoenixSink

__all__ = ["phoenix"]

phoenix = Connector(
    name="phoenix",
    settings=PhoenixSettings,
    source=PhoenixSource,
    sink=PhoenixSink,
    annotations=PhoenixAnnotations,
    where_fields={
        "has_error": "whether any span failed",
        "max_duration": "from the first start to the last end",
        "metadata": "attribute metadata of the root span",
        "min_duration": "from the first start to the last end",
        "model": "the model of any LLM span",
        "name": "the root span's name",
        "session": "attribute session.id",
        "tags": "attribute tag.tags of the root span, else of any",
        "user": "attribute user.id",
    },
    instead={
        "environment": "metadata.environment, if the application puts it there: Phoenix keeps no resource attributes",
        "level": "has_error",
        "release": "metadata.release, if the application puts it there",
    },
    variables={
        "host": "PHOENIX_COLLECTOR_ENDPOINT",
        "api_key": "PHOENIX_API_KEY",
        "project": "PHOENIX_PROJECT_NAME",
    },
)
