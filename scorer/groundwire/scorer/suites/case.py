"""A case of a suite: what is asked, what a good answer says and cites, and what kind of case it is."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, StringConstraints

__all__ = ["Case", "CaseKind", "Purpose"]

CaseKind = Literal["normal", "hard", "must_refuse"]
"""`must_refuse`: the only right answer is that there is none."""
Purpose = Literal["regression", "capability"]
"""`regression`: handled before, and must stay so. `capability`: not handled yet; never gated."""


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Case(BaseModel):
    """One line of `cases.jsonl`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    id: Annotated[str, BeforeValidator(_text), StringConstraints(min_length=1)]
    """Its name within the suite."""
    input: JsonValue
    """What the target is given."""
    expect: JsonValue = None
    """What the answer must say: a text, several, a number, or whatever the suite's graders read."""
    cite: Annotated[tuple[str, ...], BeforeValidator(_several)] = ()
    """Ids of the sources that the answer must cite."""
    sources: Mapping[str, str] | tuple[str, ...] | None = None
    """What the answer may rest on: texts by id, or ids of the suite's sources; all of those unless given."""
    kind: CaseKind = "normal"
    """normal, hard or must_refuse."""
    version: Annotated[str, BeforeValidator(_text)] = "1"
    """Of the case; a result of one version is never compared with one of another."""
    purpose: Purpose = "regression"
    """regression or capability."""

    @property
    def must_refuse(self) -> bool:
        """Whether the only right answer is that there is none."""
        return self.kind == "must_refuse"

    def texts(self, sources: Mapping[str, str]) -> Mapping[str, str]:
        """The sources of this case, by id, out of the suite's."""
        if self.sources is None:
            return sources
        if isinstance(self.sources, Mapping):
            return self.sources
        return {name: sources[name] for name in self.sources if name in sources}

    def digest(self, sources: Mapping[str, str]) -> str:
        """16 hex digits over what a pass of this case means; its purpose, which may change, is no part of it."""
        defining = self.model_dump(mode="json", exclude={"purpose", "sources"})
        text = json.dumps([defining, dict(self.texts(sources))], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
