"""Makes the demo traces: small agents, really run and really traced, against a fake model on loopback.

Run it from the repository's root, in an environment of its own:

    python3 -m venv /tmp/demo-venv
    /tmp/demo-venv/bin/python -m pip install -U pip && /tmp/demo-venv/bin/pip install --group demo
    /tmp/demo-venv/bin/python -m tests.demo.make_traces

The files come out the same on every run with the same versions of the SDKs.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.demo import agents
from tests.demo.exports import as_langfuse_rows, as_otlp, as_phoenix
from tests.demo.fake_server import Server, serving
from tests.demo.stable import dumped, stable

__all__ = ["FILES", "FOLDER", "main"]

FOLDER = Path(__file__).parents[2] / "jobs" / "groundwire" / "jobs" / "demo"
"""Where the package keeps them."""

FILES: dict[str, Callable[[Server], Any]] = {
    "grounded.otlp.json": lambda server: as_otlp(agents.openai_openinference(server, "grounded")),
    "invented_number.phoenix.jsonl": lambda server: as_phoenix(
        agents.langgraph_openinference(server, "invented_number")
    ),
    "wrong_entity.langsmith.jsonl": lambda server: agents.langgraph_langsmith(server, "wrong_entity"),
    "fabricated_tool_result.otlp.json": lambda server: as_otlp(
        agents.pydantic_ai_genai(server, "fabricated_tool_result")
    ),
    "no_claims.conversation.json": lambda server: agents.bare(server, "no_claims"),
    "no_evidence.langsmith.jsonl": lambda server: agents.traceable_langsmith(server, "no_evidence"),
    "orchestrator.otlp.json": lambda server: as_otlp(
        agents.pydantic_ai_genai(server, "orchestrator", delegate="travel_agent")
    ),
    "spanish.conversation.jsonl": lambda server: [
        {"conversation_id": "spanish", "messages": agents.bare(server, "spanish")}
    ],
    "long_tool_result.phoenix.jsonl": lambda server: as_phoenix(
        agents.langgraph_openinference(server, "long_tool_result")
    ),
    # Langfuse's client patches the OpenAI library for good, so these come last.
    "failed_tool_answered.langfuse.json": lambda server: as_langfuse_rows(
        agents.langfuse_sdk(server, "failed_tool_answered")
    ),
    "german.otlp.json": lambda server: as_otlp(agents.langfuse_sdk(server, "german")),
}
"""The files, by what they show and in which format."""


def main() -> None:
    """Make every file, in this order."""
    with serving() as server:
        for file, make in FILES.items():
            value = stable(make(server), seed=file)
            (FOLDER / file).write_text(dumped(value, lines=file.endswith(".jsonl")), encoding="utf-8")
            sys.stdout.write(f"{file}: {(FOLDER / file).stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
