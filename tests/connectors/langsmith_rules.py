"""What a LangSmith on loopback calls: a rule's webhook, and a decision model, each as the service is known to."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from tests.connectors.langsmith_app import PROJECT, LangsmithApp, iso

_LOCAL = ("inputs", "outputs", "extra", "events", "serialized", "child_run_ids", "direct_child_run_ids")


@dataclass(kw_only=True)
class Rule:
    """A rule with a webhook: an answer is waited for 5 s; failed connections and 5xx are tried twice more."""

    app: LangsmithApp
    url: str
    secret: str
    whole: bool = False
    """Whether runs come with inputs and outputs."""
    zone: bool = False
    """Whether times bear a zone."""
    waits: Sequence[float] = (0.05, 0.1)
    patience: float = 5.0
    rule_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    answers: list[int | str] = field(default_factory=list)
    """Of every try: its status, or the failure's name."""

    def body(self, run_ids: Sequence[str]) -> dict[str, Any]:
        rows = {row["id"]: row for row in self.app.runs}
        now = iso(datetime.now(UTC))
        return {
            "rule_id": self.rule_id,
            "start_time": now,
            "end_time": now,
            "runs": [self._sent(rows[run_id]) for run_id in run_ids],
            "feedback_stats": {},
            "zz_new_field": {"deep": [1]},
        }

    def _sent(self, row: dict[str, Any]) -> dict[str, Any]:
        sent = {
            **{key: row[key] for key in ("id", "trace_id", "name", "run_type", "status")},
            **dict.fromkeys(_LOCAL),
            "session_id": PROJECT,
            "tenant_id": "t",
            "is_root": row["parent_run_id"] is None,
            "start_time": self._time(row["start_time"]),
            "end_time": self._time(row["end_time"]),
            "inputs_s3_urls": None,
            "outputs_s3_urls": None,
            "app_path": "/o/t/projects/p",
            "zz_new_field": 1,
        }
        return sent | {key: row[key] for key in ("inputs", "outputs", "extra")} if self.whole else sent

    def _time(self, text: str | None) -> str | None:
        return text if text is None or self.zone else text.removesuffix("Z")

    async def deliver(self, run_ids: Sequence[str]) -> int | str:
        """Send these runs in one delivery; gives what became of the last try."""
        return await self.send(self.body(run_ids))

    async def send(self, body: Any) -> int | str:
        headers = {"Authorization": f"Bearer {self.secret}"}
        async with httpx.AsyncClient(timeout=self.patience) as client:
            for wait in (*self.waits, None):
                try:
                    answer = await client.post(self.url, json=body, headers=headers)
                    told: int | str = answer.status_code
                except httpx.ConnectError:
                    told = "not connected"
                except httpx.TimeoutException:
                    told = "too late"
                self.answers.append(told)
                again = told == "not connected" or (isinstance(told, int) and told >= 500)
                if not again or wait is None:
                    return told
                await asyncio.sleep(wait)
        raise AssertionError("the last try returns")


@dataclass(kw_only=True)
class DecisionRule:
    """An evaluator of the app that asks a decision model about a trace and keeps the answer as its own feedback."""

    app: LangsmithApp
    base_url: str
    token: str
    name: str
    model: str = "groundwire"
    prompt: bool = False
    """Whether the state is the text of a filled-in prompt in place of an object."""

    async def decide(self, trace_id: str) -> dict[str, Any]:
        """Ask about one trace; a probability becomes a score, anything else an evaluator's error."""
        rows = [row for row in self.app.runs if row["trace_id"] == trace_id]
        root = next(row for row in rows if row["parent_run_id"] is None)
        tools = [row["outputs"] for row in rows if row["run_type"] == "tool"]
        asked, said = _last(root["inputs"]), _last(root["outputs"])
        state: Any = {"context": tools, "inputs": asked, "outputs": said}
        if self.prompt:
            state = [{"role": "user", "content": f"CONTEXT:\n{tools}\nINPUTS:\n{asked}\nOUTPUTS:\n{said}"}]
        question = {"type": "noul", "instructions": "Does the answer say what the context does not?"}
        async with httpx.AsyncClient(timeout=10) as client:
            answer = await client.post(
                f"{self.base_url}/v1/systemone",
                json={"model": self.model, "state": state, "questions": {"hallucinated": question}},
                headers={"Authorization": f"Bearer {self.token}"},
            )
        found = answer.json().get("answers", {}).get("hallucinated", {})
        feedback = {"id": str(uuid.uuid4()), "run_id": trace_id, "key": self.name, "score": found.get("noul")}
        if found.get("noul") is not None:
            self.app.feedback.append(feedback)
        return feedback | {"answer": found, "status": answer.status_code}


def _last(side: dict[str, Any] | None) -> str:
    messages = (side or {}).get("messages") or []
    return str(messages[-1]["content"]) if messages else ""
