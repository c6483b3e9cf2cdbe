"""LangSmith as a connector, as `platform = "langsmith"` names it."""

from groundwire.connectors.connector import Connector
from groundwire.connectors.langsmith.annotations import LangsmithAnnotations
from groundwire.connectors.langsmith.hook import LangsmithHook
from groundwire.connectors.langsmith.read import LangsmithSource
from groundwire.connectors.langsmith.rules import instructions_for
from groundwire.connectors.langsmith.settings import LangsmithSettings
from groundwire.connectors.langsmith.write import LangsmithSink

__all__ = ["langsmith"]

langsmith = Connector(
    name="langsmith",
    settings=LangsmithSettings,
    source=LangsmithSource,
    sink=LangsmithSink,
    annotations=LangsmithAnnotations,
    feedback=True,
    hook=LangsmithHook,
    attach=instructions_for,
    where_fields={
        "has_error": "whether any run failed",
        "max_duration": "from the first start to the last end",
        "metadata": "metadata of the root run",
        "min_duration": "from the first start to the last end",
        "model": "the model of any llm run",
        "name": "the root run's name",
        "session": "the thread's id: metadata thread_id, session_id or conversation_id",
        "tags": "tags of the root run",
        "user": "metadata user_id of the root run",
    },
    instead={
        "environment": "metadata.environment, if the application puts it there",
        "level": "has_error",
        "release": "metadata.revision_id, where LangSmith's SDK puts the deployed revision",
    },
    variables={
        "host": "LANGSMITH_ENDPOINT",
        "api_key": "LANGSMITH_API_KEY",
        "project": "LANGSMITH_PROJECT",
        "workspace": "LANGSMITH_WORKSPACE_ID",
    },
)
