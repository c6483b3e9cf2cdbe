"""Writes docs/configuration.md from the configuration's own models: `python docs/make_configuration.py`."""

import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from groundwire.connectors import WHERE_FIELDS, Connector, connector_names, load_connector
from groundwire.jobs.settings import LogSpec, Settings
from groundwire.jobs.spec import Cap, EvaluatorSpec, GuardSpec, ServiceSpec, SpanWhere, StateSpec, Stratum, Where
from groundwire.scorer import (
    ConversationConfig,
    DecisionJudgeConfig,
    FactCheckSignal,
    GuardRule,
    HallucinationConfig,
    HallucinationSignal,
    KindRule,
    LLMJudgeConfig,
    OfflineJudgeConfig,
    RootRule,
    SpansConfig,
)

PAGE = Path(__file__).parent / "configuration.md"
HEAD = """# Configuration

`groundwire.toml` in the working folder, or the file that `--config` names. `groundwire init` writes a commented one.
This page is made from the models that read it (`python docs/make_configuration.py`).

- `${NAME}` in a value is replaced from the environment; a name that isn't set is an error.
- `GROUNDWIRE_STATE__URL=…` in the environment overrides `[state] url`, and so for every key outside lists.
- An unknown key is refused, with the nearest one that exists.
- Durations are seconds, or text such as `"90s"`, `"1m"`, `"2h"`, `"7d"`.
"""
SECTIONS: list[tuple[str, str, type[BaseModel]]] = [
    ("The file", "The tables at the top level.", Settings),
    ("`[[evaluators]]`", "A configured use of a metric.", EvaluatorSpec),
    ("`where`", "Which traces.", Where),
    ("`where.span`", "At span level, which model calls.", SpanWhere),
    ("`[[evaluators.strata]]`", "Traces that are sampled at a rate of their own.", Stratum),
    ("`cap`", '`{ usd = 5.00, per = "day" }`, one or a list of them.', Cap),
    ("`kinds`", "A list of rules; the first that matches a span re-kinds it.", KindRule),
    ("`root`", "The subtree to judge.", RootRule),
    ("`[evaluators.config]` of `agent.hallucination`", "The metric's own configuration.", HallucinationConfig),
    ("`[evaluators.config]` of `conversation.hallucination`", "The metric's own configuration.", ConversationConfig),
    ("`[evaluators.config]` of `unsupported_spans`", "The metric's own configuration.", SpansConfig),
    ('`[judges.NAME]`, `kind = "llm"`', "A language model; `kind` may be left out.", LLMJudgeConfig),
    ('`[judges.NAME]`, `kind = "decision"`', "A System One decision model.", DecisionJudgeConfig),
    ('`[judges.NAME]`, `kind = "offline"`', "The offline rules.", OfflineJudgeConfig),
    ("`[state]`", "Where the state is kept.", StateSpec),
    ("`[guard]`", "What is done about unsupported answers; [guard.md](guard.md).", GuardSpec),
    ("`[guard.signals] fact_check`", "Whether the request needs facts.", FactCheckSignal),
    ("`[guard.signals] hallucination`", "Whether the answer is unsupported.", HallucinationSignal),
    ("`[[guard.rules]]`", "What is done, and when.", GuardRule),
    ("`[service]`", "The web service of `groundwire serve`; [service.md](service.md).", ServiceSpec),
    ("`[log]`", "How groundwire logs.", LogSpec),
]


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, about, model in SECTIONS:
        parts.append(f"## {title}\n\n{about}\n\n{_table(model)}")
    connectors = {name: load_connector(name) for name in connector_names()}
    for name, connector in connectors.items():
        about = f"What stands in `[sources.NAME]` beside `platform`.{_variables(connector)}"
        parts.append(f'## `platform = "{name}"`\n\n{about}\n\n{_table(connector.settings)}')
    parts.append(_where_by_platform(connectors))
    return "\n".join(parts)


def _table(model: type[BaseModel]) -> str:
    rows = "".join(_rows(model))
    return f"| key | type | default | meaning |\n|---|---|---|---|\n{rows}"


def _rows(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        meaning = " ".join((field.description or "").split())
        bounds = ", ".join(_bounds(field))
        about = f"{meaning} ({bounds})" if bounds else meaning
        yield _line(f"`{name}`", _type(field.annotation), _default(field), about)


def _line(*cells: str) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"


def _bounds(field: FieldInfo) -> Iterator[str]:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "min_length": "length ≥", "max_length": "length ≤"}
    for constraint in field.metadata:
        for name, sign in signs.items():
            value = getattr(constraint, name, None)
            if value is not None:
                yield f"{sign} {value}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default if field.default is not PydanticUndefined else None
    if field.default_factory is not None or value is None or isinstance(value, BaseModel):
        return "–"
    if isinstance(value, tuple):
        return f"`[{', '.join(repr(item) for item in value)}]`" if value else "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(annotation: Any) -> str:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(args[0])
    if origin is typing.Literal:
        return " · ".join(f"`{value}`" for value in args)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(one) for one in args if one is not type(None)))
    if origin is tuple:
        return f"list of {_type(args[0])}"
    if origin is not None and args:
        return f"table of {_type(args[-1])}"
    names = {str: "text", int: "integer", float: "number", bool: "true or false", Path: "path"}
    if annotation in names:
        return names[annotation]
    name = getattr(annotation, "__name__", str(annotation))
    return {"SecretStr": "secret", "Decimal": "number"}.get(name, name)


def _variables(connector: Connector[Any]) -> str:
    if not connector.variables:
        return ""
    named = ", ".join(f"`{variable}` for `{key}`" for key, variable in connector.variables.items())
    return f" Defaults from the environment: {named}."


def _where_by_platform(connectors: dict[str, Connector[Any]]) -> str:
    head = f"| field | {' | '.join(connectors)} |\n|---|{'---|' * len(connectors)}\n"
    lines = []
    for name in WHERE_FIELDS:
        cells = [one.where_fields.get(name) or f"none; use {one.instead.get(name, '–')}" for one in connectors.values()]
        lines.append(f"| `{name}` | {' | '.join(cells)} |\n")
    return f"## `where`, platform by field\n\n{head}{''.join(lines)}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
