"""Feedback configurations: what a score's numbers mean and which way is better, kept in the workspace."""

import logging
from typing import Any

from groundwire.connectors.http import said
from groundwire.connectors.langsmith.wire import Wire
from groundwire.connectors.score import Score

__all__ = ["FeedbackConfigs"]

logger = logging.getLogger(__name__)

_TOLERATED = frozenset({400, 403, 404, 405, 409, 410, 422, 501})
"""Another configuration is there, the key may not make any, or the server has none."""


class FeedbackConfigs:
    """Makes a configuration for each name once. What the workspace's people made is never changed."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._done: set[str] = set()

    async def ensure(self, score: Score) -> None:
        """See that there is a configuration for the score's name, where the server lets us make one."""
        if score.name in self._done or score.value is None:
            return
        body: dict[str, Any] = {"feedback_key": score.name, "is_enforced": False}
        if isinstance(score.value, str):
            body["feedback_config"] = {"type": "freeform"}
        else:
            body["feedback_config"] = {"type": "continuous", "min": 0, "max": 1}
            body["is_lower_score_better"] = score.lower_is_better
        answer = await self._wire.post(
            "/api/v1/feedback-configs", body, what="a feedback configuration", accept=_TOLERATED
        )
        self._done.add(score.name)
        if not answer.ok:
            logger.warning(
                "LangSmith makes no feedback configuration (HTTP %d%s)",
                answer.status,
                f": {heard}" if (heard := said(answer.body)) else "",
                extra={"action": "feedback_config_refused", "score_name": score.name},
            )
