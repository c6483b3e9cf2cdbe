"""What a guard is configured with: signals, and rules over them."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

__all__ = [
    "ACTIONS",
    "Action",
    "Condition",
    "Deployed",
    "FactCheckSignal",
    "GuardRule",
    "GuardRules",
    "HallucinationSignal",
    "SignalType",
    "Signals",
    "Tree",
    "conditions_in",
    "writes",
]

Action = Literal["annotate", "block", "flag", "record"]
ACTIONS: tuple[Action, ...] = ("annotate", "block", "flag", "record")
SignalType = Literal["fact_check", "hallucination"]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
"""Letters, digits, `_ . -`: it stands in a header."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Deployed(_Strict):
    """A signal: a question, who answers it, and until when."""

    name: Name
    """By which rules name it, as `{type: …, name: …}`."""
    deployment: str | None = None
    """The judge that answers; the guard's own unless given."""
    timeout_ms: int = Field(default=10_000, ge=1)
    """Milliseconds in which the answer must be there; a later one is unknown."""
    description: str = ""
    """For readers of the configuration."""


class FactCheckSignal(Deployed):
    """Whether the request needs facts. It matches where it does; called `no_fact_check_needed`, where it does not."""


class HallucinationSignal(Deployed):
    """Whether the answer says something that its grounding context doesn't support."""

    predicate: float | None = Field(default=None, ge=0, le=1)
    """Least probability of an unsupported span that matches; unset, the judge's own decision counts."""


class Signals(_Strict):
    """The signals that rules can name, by type."""

    fact_check: tuple[FactCheckSignal, ...] = ()
    """Whether the request needs facts."""
    hallucination: tuple[HallucinationSignal, ...] = ()
    """Whether the answer is unsupported."""

    @model_validator(mode="after")
    def _are_told_apart(self) -> "Signals":
        names = [signal.name for signal in (*self.fact_check, *self.hallucination)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two signals are called {name!r}; results and warnings go by name")
        return self


class Condition(_Strict):
    """A signal that matches."""

    type: str
    """`fact_check` or `hallucination`."""
    name: str
    """The signal's name."""


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


class Tree(_Strict):
    """Conditions joined: asked in their order, and no further than the outcome needs."""

    operator: Annotated[Literal["AND", "OR"], BeforeValidator(_upper)]
    """`AND` or `OR`."""
    conditions: tuple["When", ...] = Field(min_length=1)
    """Conditions, or trees of them."""


def _form(value: Any) -> str:
    has = ("operator" in value or "conditions" in value) if isinstance(value, dict) else isinstance(value, Tree)
    return "tree" if has else "condition"


When = Annotated[
    Annotated[Condition, Tag("condition")] | Annotated[Tree, Tag("tree")],
    Discriminator(_form),
]
Tree.model_rebuild()

T = TypeVar("T", bound=Deployed)


class GuardRule(_Strict):
    """What is done about an answer, and when."""

    when: When
    """`{operator: AND | OR, conditions: […]}`, nested as you like, or one `{type: …, name: …}`."""
    action: Action
    """`annotate` writes a note at the head of the answer, `block` puts a notice in its place, `flag` gives a warning
    beside it, `record` only keeps the result."""
    details: bool = False
    """Whether a note or notice names the passages and the reasons."""
    on_unknown: Action = "record"
    """The action where it can't be told whether the rule matches."""


class GuardRules(_Strict):
    """Signals, and the rules over them."""

    signals: Signals = Field(default_factory=Signals)
    """`fact_check` and `hallucination`, each a list of tables."""
    rules: tuple[GuardRule, ...] = Field(min_length=1)
    """Each is looked at; what several want is done together, `block` before `annotate`."""

    @model_validator(mode="after")
    def _names_what_there_is(self) -> "GuardRules":
        known = {
            "fact_check": {signal.name for signal in self.signals.fact_check},
            "hallucination": {signal.name for signal in self.signals.hallucination},
        }
        for number, rule in enumerate(self.rules, start=1):
            for condition in conditions_in(rule.when):
                if condition.type not in known:
                    raise ValueError(
                        f"rule {number} names {condition.name!r} of type {condition.type!r}; "
                        "a guard reads fact_check and hallucination"
                    )
                if condition.name not in known[condition.type]:
                    there = ", ".join(sorted(known[condition.type])) or "none"
                    raise ValueError(
                        f"rule {number}: no {condition.type} signal is called {condition.name!r}; there are: {there}"
                    )
        return self


def conditions_in(when: "Condition | Tree") -> Iterator[Condition]:
    """Every condition of a tree, in its order."""
    if isinstance(when, Condition):
        yield when
    else:
        for one in when.conditions:
            yield from conditions_in(one)


def writes(rule: GuardRule) -> bool:
    """Whether a rule can write into the answer, so that a stream is held for it."""
    return not {"annotate", "block"}.isdisjoint((rule.action, rule.on_unknown))
