"""A guard's configuration read from data: its own two tables, or a semantic router's recipes with a guard in them."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.guard.rules import GuardRules

__all__ = ["PLUGINS", "read_guard", "require_tree"]

PLUGINS = ("guard", "response_guard")
"""What a decision's plugin is called that holds a guard's rules."""
DEEPEST = 32
"""Levels of nesting of a configuration."""
_OWN = ("fact_check", "hallucination")


def read_guard(
    config: Mapping[str, Any], *, recipe: str | None = None, decision: str | None = None
) -> tuple[GuardRules, tuple[str, ...]]:
    """The rules that a configuration holds, and a line for each key that is a router's own.

    Either `signals` and `rules`, or `recipes` (or one recipe without that list) with the rules in a decision's plugin.
    `recipe` and `decision` name which, where there are several. Raises `ConfigError`: a missing or unknown name, a
    cycle, a decision that reads what is only known after the answer.
    """
    require_tree(config)
    if "rules" in config:
        return _rules(config), ()
    ignored: list[str] = []
    chosen, where = _recipe(config, recipe, ignored)
    guards: dict[str, Any] = {}
    _refuse_early_reads(chosen, config, where)
    for number, one in enumerate(_list(chosen, "decisions", where), start=1):
        name = str(one.get("name") or f"number {number}")
        at = f"{where}decisions.{name}"
        found = [plugin for plugin in _list(one, "plugins", at) if plugin.get("type") in PLUGINS]
        ignored += [f"{at}.{key}: router key, ignored" for key in one if key not in ("name", "plugins")]
        ignored += [
            f"{at}.plugins: {plugin.get('type')} is no guard, ignored"
            for plugin in _list(one, "plugins", at)
            if plugin not in found
        ]
        if len(found) > 1:
            raise ConfigError(f"{at}: more than one guard; put their rules into one")
        if found:
            guards[name] = found[0].get("configuration")
    rules = _chosen_guard(guards, decision, where)
    signals = _mapping(chosen.get("signals") or {}, f"{where}signals")
    ignored += [f"{where}signals.{key}: router key, ignored" for key in signals if key not in _OWN]
    known = {key: value for key, value in signals.items() if key in _OWN}
    return _rules({"signals": known, **_mapping(rules, "the guard's configuration")}), tuple(ignored)


def _rules(data: Mapping[str, Any]) -> GuardRules:
    try:
        return GuardRules.model_validate(dict(data))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        path = ".".join(str(part) for part in first["loc"] if part not in ("tree", "condition"))
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            message = "no such key"
        raise ConfigError(f"guard: {path}: {message}" if path else f"guard: {message}") from None


def _recipe(config: Mapping[str, Any], name: str | None, ignored: list[str]) -> tuple[Mapping[str, Any], str]:
    """The recipe of that name, and where it stands, as the beginning of a path."""
    if "recipes" not in config:
        if not {"signals", "decisions"} & set(config):
            raise ConfigError("guard: nothing is configured; it needs signals and rules, or recipes")
        if name is not None:
            raise ConfigError(f"guard: there are no recipes, so none is called {name!r}")
        ignored += [f"{key}: router key, ignored" for key in config if key not in ("signals", "decisions")]
        return config, ""
    recipes = {str(one.get("name") or ""): one for one in _list(config, "recipes", "")}
    ignored += [f"{key}: router key, ignored" for key in config if key != "recipes"]
    if name is None and len(recipes) != 1:
        raise ConfigError(f"guard: choose one of the recipes {', '.join(sorted(recipes)) or '(there are none)'}")
    chosen = name if name is not None else next(iter(recipes))
    if chosen not in recipes:
        raise ConfigError(f"guard: no recipe is called {chosen!r}; there are: {', '.join(sorted(recipes))}")
    at = f"recipes.{chosen}."
    read = ("name", "signals", "decisions")
    ignored += [f"{at}{key}: router key, ignored" for key in recipes[chosen] if key not in read]
    return recipes[chosen], at


def _chosen_guard(guards: Mapping[str, Any], decision: str | None, where: str) -> Any:
    if not guards:
        raise ConfigError(f"guard: {where}decisions: no plugin of type {' or '.join(PLUGINS)} is configured")
    if decision is None and len(guards) > 1:
        raise ConfigError(f"guard: {where}decisions: several have a guard; choose one of {', '.join(guards)}")
    if decision is not None and decision not in guards:
        raise ConfigError(f"guard: no decision {decision!r} with a guard; there are: {', '.join(guards)}")
    return guards[decision] if decision is not None else next(iter(guards.values()))


def _refuse_early_reads(recipe: Mapping[str, Any], config: Mapping[str, Any], where: str) -> None:
    """A decision is taken before the model answers: it can't read `hallucination`, itself or through a projection."""
    projections: dict[str, list[Any]] = {}
    for holder in (config, recipe):
        for name, body in _named(holder.get("projections")):
            projections.setdefault(name, []).append(body)
    for one in _list(recipe, "decisions", where):
        reads = _reads(one.get("rules"), projections, ())
        if reads is not None:
            path, name = reads
            through = f" through projection {path[-1]!r}" if path else ""
            raise ConfigError(
                f"guard: decision {one.get('name')!r} reads hallucination {name!r}{through}, which is asked only after "
                "the answer; read it in a guard's rule"
            )


def _reads(
    value: Any, projections: Mapping[str, list[Any]], path: tuple[str, ...]
) -> tuple[tuple[str, ...], str] | None:
    """The first hallucination signal that is read from here, with the projections on the way to it."""
    for condition in _references(value):
        kind, name = condition
        if kind == "hallucination":
            return path, name
        if kind == "projection":
            if name in path:
                raise ConfigError(f"guard: projection {name!r} reads itself; projections must not form a cycle")
            for body in projections.get(name, ()):
                found = _reads(body, projections, (*path, name))
                if found is not None:
                    return found
    return None


def _references(value: Any) -> Iterator[tuple[str, str]]:
    """What a value names: `{type, name}` wherever it stands, and the plain `source` of a projection."""
    if isinstance(value, Mapping):
        if isinstance(value.get("type"), str) and isinstance(value.get("name"), str):
            yield value["type"], value["name"]
        if isinstance(value.get("source"), str):
            yield "projection", value["source"]
        for one in value.values():
            yield from _references(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _references(one)


def _named(value: Any) -> Iterator[tuple[str, Any]]:
    """Everything in `projections` that has a name of its own, with the body that decides it."""
    if isinstance(value, Mapping):
        names = [value["name"]] if isinstance(value.get("name"), str) and "type" not in value else []
        outputs = value.get("outputs")
        if isinstance(outputs, list | tuple):
            names += [one["name"] for one in outputs if isinstance(one, Mapping) and isinstance(one.get("name"), str)]
        body = {key: one for key, one in value.items() if key != "name"}
        for name in names:
            yield name, body
        if not names:
            for one in value.values():
                yield from _named(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _named(one)


def _list(value: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
    found = value.get(key) or []
    if not isinstance(found, list | tuple) or not all(isinstance(one, Mapping) for one in found):
        raise ConfigError(
            f"guard: {where}{'.' if where and not where.endswith('.') else ''}{key} must be a list of tables"
        )
    return list(found)


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"guard: {where} must be a table")
    return value


def require_tree(value: Any, path: tuple[int, ...] = ()) -> None:
    """Raise `ConfigError` for what holds itself (YAML's aliases can), and for what is nested beyond any sense."""
    if not isinstance(value, Mapping | list | tuple):
        return
    if id(value) in path:
        raise ConfigError("guard: the configuration holds itself (a cycle of aliases); write the conditions out")
    if len(path) >= DEEPEST:
        raise ConfigError(f"guard: the configuration is nested more than {DEEPEST} levels deep")
    for one in value.values() if isinstance(value, Mapping) else value:
        require_tree(one, (*path, id(value)))
