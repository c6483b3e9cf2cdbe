"""Score configurations: what a score's numbers mean, kept in the Langfuse project."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from groundwire.connectors.langfuse.payload import NAME_IN_CONFIGS
from groundwire.connectors.langfuse.wire import Wire
from groundwire.connectors.score import Score
from groundwire.scorer import SkipThis

__all__ = ["ScoreConfigs"]

logger = logging.getLogger(__name__)

_PAGE = 100


@dataclass(frozen=True, kw_only=True)
class _Config:
    config_id: str
    data_type: str
    archived: bool
    least: float | None
    most: float | None

    def admits(self, value: float) -> bool:
        """Whether the server would store the value; it drops what a configuration forbids, without a word."""
        if self.archived or self.data_type != "NUMERIC":
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


class ScoreConfigs:
    """Finds a score's configuration by its name, and makes it where there is none."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._known: dict[str, _Config] | None = None

    async def config_id(self, score: Score) -> str | None:
        """The id to send with the score; None where a configuration would have it dropped, or none can be made.

        Only numbers in [0, 1] get one. What the project's people made under the name is never changed.
        """
        if not isinstance(score.value, (int, float)) or not NAME_IN_CONFIGS.fullmatch(score.name):
            return None
        if self._known is None:
            self._known = await self._listed()
        if score.name not in self._known and 0 <= score.value <= 1:
            made = await self._made(score)
            if made is not None:
                self._known[score.name] = made
        config = self._known.get(score.name)
        return config.config_id if config is not None and config.admits(score.value) else None

    async def _listed(self) -> dict[str, _Config]:
        found: dict[str, _Config] = {}
        page, pages = 1, 1
        while page <= pages:
            answer = await self._wire.get(
                "/score-configs", {"page": page, "limit": _PAGE}, what="its score configurations"
            )
            body = answer.body if isinstance(answer.body, Mapping) else {}
            for item in body.get("data") or []:
                config = _read(item)
                name = item.get("name") if isinstance(item, Mapping) else None
                if config is not None and isinstance(name, str) and (name not in found or found[name].archived):
                    found[name] = config
            meta = body.get("meta")
            pages = int(meta.get("totalPages") or 1) if isinstance(meta, Mapping) else 1
            page += 1
        return found

    async def _made(self, score: Score) -> _Config | None:
        better = "lower" if score.lower_is_better else "higher"
        asked = {
            "name": score.name,
            "dataType": "NUMERIC",
            "minValue": 0,
            "maxValue": 1,
            "description": f"Written by groundwire; {better} is better.",
        }
        try:
            answer = await self._wire.post("/score-configs", asked, what="a new score configuration")
        except SkipThis as refusal:
            logger.warning("%s", refusal, extra={"action": "score_config_refused", "score_name": score.name})
            return None
        return _read(answer.body)


def _read(item: object) -> _Config | None:
    if not isinstance(item, Mapping) or not isinstance(item.get("id"), str):
        return None
    return _Config(
        config_id=item["id"],
        data_type=str(item.get("dataType")),
        archived=bool(item.get("isArchived")),
        least=_number(item.get("minValue")),
        most=_number(item.get("maxValue")),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
